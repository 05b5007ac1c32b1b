"""Reading times of every corpus, from small files in the format that its authors document."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.reading.alignment import align_words, attach_words, check_words
from lingprob.reading.tables import Source
from lingprob.reading.times import (
    build_reading_times,
    count_exclusions,
    eye_tracking_reason,
    load_parser,
    partitions,
    saccades,
    self_paced_reason,
    sentence_numbers,
)

SELF_PACED = {"method": "self_paced", "unit": "subject"}
EYE_TRACKING = {"method": "eye_tracking", "unit": "subject"}


def text(**passages: str) -> pd.DataFrame:
    """A `words` table; a passage's sentences are parted by ' / '."""
    rows = []
    for name, content in passages.items():
        index = 0
        for sentence, words in enumerate(content.split(" / ")):
            for word in words.split():
                rows.append((name.removeprefix("p"), index, word, sentence))
                index += 1
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])


def parsed(
    parser: str, words: pd.DataFrame, *files: Path, **entry: Any
) -> list[tuple[str, str, int, float]]:
    times = load_parser("corpus", parser)(
        Source(list(files), words, {"parser": parser, **entry}, 0)
    )
    times = times.sort_values(["subject_id", "passage_id", "word_index"])
    columns = ["subject_id", "passage_id", "word_index", "rt_ms"]
    return list(times[columns].itertuples(index=False, name=None))


def saved(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


def test_natural_stories_by_subject(tmp_path):
    header = "WorkerId\tWorkTimeInSeconds\tcorrect\titem\tzone\tRT\tword\tnItem\n"
    path = saved(
        tmp_path / "processed_RTs.tsv",
        header
        + 'A1\t9\t6\t1\t1\t400\t"If\t2\nA1\t9\t6\t1\t3\t500.5\tgo.\t2\nB2\t8\t4\t1\t1\t99\tif\t2\n',
    )
    words = text(p1='"If you go.')
    assert parsed("natural_stories_spr", words, path) == [
        ("A1", "1", 0, 400.0), ("A1", "1", 2, 500.5), ("B2", "1", 0, 99.0)
    ]  # fmt: skip
    for changed, message in (
        ("A1\t9\t6\t1\t2\t400\tThey\t2\n", "word 1 of passage '1' is 'They' .* 'you' in the text"),
        (
            "A1\t9\t6\t7\t1\t400\tSo\t2\n",
            r"word 0 of passage '7' \('So'\), which the text does not",
        ),
    ):
        other = saved(tmp_path / "other.tsv", header + changed)
        for shift in (0, 1):
            with pytest.raises(LingprobError, match=message):
                parsed("natural_stories_spr", words, other, zone_shift=shift)
    # The old release: a zone has the time of the word after it, the last zone of no word.
    assert parsed("natural_stories_spr", words, path, zone_shift=1) == [
        ("A1", "1", 1, 400.0), ("B2", "1", 1, 99.0)
    ]  # fmt: skip


def test_natural_stories_means(tmp_path):
    path = saved(
        tmp_path / "processed_wordinfo.tsv",
        "word\tzone\titem\tnItem\tmeanItemRT\tsdItemRT\tgmeanItemRT\tgsdItemRT\n"
        "you\t2\t1\t80\t310.5\t1\t1\t1\nIf\t1\t1\t80\t300\t1\t1\t1\n",
    )
    words = text(p1="If you go.")
    assert parsed("natural_stories_means", words, path) == [
        ("mean", "1", 0, 300.0), ("mean", "1", 1, 310.5)
    ]  # fmt: skip
    assert parsed("natural_stories_means", words, path, zone_shift=1) == [
        ("mean", "1", 1, 300.0), ("mean", "1", 2, 310.5)
    ]  # fmt: skip


def test_brown_by_subject_counts_texts_and_places_from_0(tmp_path):
    path = saved(
        tmp_path / "brown_spr.csv",
        '"","word","code","subject","text_id","text_pos","word_in_exp","time"\n'
        '"1","In","17000","s01",0,0,1,311.2\n"2","Ireland\'s","17001","s01",0,1,2,402\n'
        '"3","It","17","s02",1,0,3,250\n',
    )
    words = text(pd00="In Ireland's County", pd01="It was")
    assert parsed("brown_spr_times", words, path) == [
        ("s01", "d00", 0, 311.2), ("s01", "d00", 1, 402.0), ("s02", "d01", 0, 250.0)
    ]  # fmt: skip
    with pytest.raises(LingprobError, match="'text_id': 0 to 1, but there are 1"):
        parsed("brown_spr_times", text(pd00="In Ireland's County"), path)


def test_brown_means(tmp_path):
    path = saved(
        tmp_path / "brown.tsv",
        "docid\tsentid\tsentpos\tword\tmean_rt\nd00\t0\t1\tIn\t\nd00\t0\t2\tIreland's\t335.85\n",
    )
    found = parsed("brown_spr_means", text(pd00="In Ireland's"), path)
    assert found[1] == ("mean", "d00", 1, 335.85)
    assert np.isnan(found[0][3])


def test_provo_by_subject_takes_first_runs_that_are_first_passes(tmp_path):
    """The columns of the raw report that count; words are numbered by area."""
    path = saved(
        tmp_path / "Provo.csv",
        "RECORDING_SESSION_LABEL,Participant_ID,Text_ID,Word_Number,Word,IA_ID,IA_LABEL,"
        "IA_FIRST_RUN_DWELL_TIME,IA_DWELL_TIME,IA_SKIP\n"
        "80,Sub01,1,2,are,2,are,147,150,0\n"
        "80,Sub01,1,3,now,3,now,,0,1\n"
        '80,Sub01,1,4,"space,",4,"space,",204,204,1\n'
        "80,Sub01,1,NA,NA,1,There,169,169,0\n",
    )
    found = parsed("provo_first_pass", text(p1="There are now space,"), path)
    assert [row[:3] for row in found] == [("Sub01", "1", place) for place in range(4)]
    assert [row[3] for row in found][:2] == [169.0, 147.0]
    assert np.isnan([row[3] for row in found][2:]).all()  # not fixated, or in a later pass


def test_provo_words_that_are_numbered_otherwise_are_found_again(tmp_path):
    path = saved(
        tmp_path / "reader_9_reading_measures.csv",
        "expr_id,cond_id,para_nr,word,word_nr,gaze_duration\n"
        + "".join(f"1,1,1,w{n},{n + 5},{n * 10}\n" for n in range(1, 31) if n != 7),
    )
    words = text(p1=" ".join(f"w{n}" for n in range(1, 31)))
    found = parsed("provo_motr", words, path)
    assert [(row[2], row[3]) for row in found] == [
        (n - 1, n * 10.0) for n in range(1, 31) if n != 7
    ]
    assert found[0][0] == "9"


def test_provo_means_have_no_places_of_their_own(tmp_path):
    path = saved(
        tmp_path / "provo.csv",
        ",sentence_num,word,first_fix_dur,first_pass_dur,total_fix_dur\n"
        "0,0,are,1,146.9,2\n1,0,now,1,145.6,2\n2,1,ran,1,0.0,2\n",
    )
    words = text(p1="There are now", p2="He ran")
    assert parsed("provo_first_pass_means", words, path) == [
        ("mean", "1", 1, 146.9), ("mean", "1", 2, 145.6), ("mean", "2", 1, 0.0)
    ]  # fmt: skip


MATERIAL = "WORD_ID,SENTENCE_ID,WORD\n1-5-1,1-1,the\n1-5-2,1-1, \n1-5-3,1-1,end\n2-1-1,2-9,So\n"
NOVEL = "CHAPTER I. ONE\n\nthe bitter end.\n\nCHAPTER II. TWO\n\nSo\n"


def test_geco_first_pass(tmp_path):
    """A dot stands for no fixation; what a word got that was passed over at first does not count.

    The material has lost the word 'bitter', but not its number.
    """
    data = saved(
        tmp_path / "MonolingualReadingData.csv",
        "PP_NR,GROUP,PART,TRIAL,WORD_ID,WORD,WORD_GAZE_DURATION,WORD_SKIP\n"
        "pp21,monolingual,1,5,1-5-1,the,200,0\npp21,monolingual,1,5,1-5-2,bitter,180,1\n"
        "pp21,monolingual,1,5,1-5-3,end.,.,1\npp21,monolingual,2,1,2-1-1,So,150,0\n",
    )
    material = saved(tmp_path / "material.csv", MATERIAL)
    novel = saved(tmp_path / "novel.txt", NOVEL)
    words = text(p1="the bitter end.", p2="So")
    found = parsed("geco_first_pass", words, data, material, novel)
    assert [row[:3] for row in found] == [
        ("pp21", "1", 0), ("pp21", "1", 1), ("pp21", "1", 2), ("pp21", "2", 0)
    ]  # fmt: skip
    assert found[0][3] == 200.0
    assert np.isnan([row[3] for row in found]).tolist() == [False, True, True, False]
    saved(material, MATERIAL.replace("1-5-", "9-5-"))
    with pytest.raises(LingprobError, match=r"only 25% of the words.*'1-5-1'"):
        parsed("geco_first_pass", words, data, material, novel)


def test_geco_total(tmp_path):
    material = saved(tmp_path / "material.csv", MATERIAL)
    novel = saved(tmp_path / "novel.txt", NOVEL)
    reader = saved(
        tmp_path / "pp21-relfix-feats.csv",
        ",sentence_id,word_id,word_id_orig,word,TRT,relFix\n"
        "0,0,0,1-5-1,the,381.0,.1\n2,1,0,1-5-3,end,0.0,.2\n",
    )
    words = text(p1="the bitter end.", p2="So")
    assert parsed("geco_total", words, material, novel, reader) == [
        ("pp21", "1", 0, 381.0), ("pp21", "1", 2, 0.0)
    ]  # fmt: skip


def test_ucl_first_pass_is_in_windows_1252(tmp_path):
    path = tmp_path / "eyetracking.RT.txt"
    path.write_bytes(
        b"subj_nr\tsent_nr\tsent_pos\tcorrect\tanswer_time\tword_pos\tword\tRTfirstfix\tRTfirstpass"
        b"\tRTrightbound\tRTgopast\n1\t7\t127\t-\tNaN\t1\tIt\x92s\t216\t348\t348\t348\n"
    )
    assert parsed("ucl_first_pass", text(p7="It\u2019s here."), path) == [("1", "7", 0, 348.0)]


def test_ucl_self_paced_mends_the_typing_errors_of_the_study(tmp_path):
    path = tmp_path / "prompts.jsonl.zip"
    trials = (
        "Read.\n\nTrial 1:\n  Word 1: 'Sott'  <<570>> ms\n  Word 2: 'got'  <<417>> ms\n"
        "  Question: 'Did he?' You answer <<n>>.\n\nTrial 2:\n  Word 1: 'It's'  <<300>> ms\n"
    )
    records = [
        {"text": trials, "experiment": "frank2013_reading/self_paced_reading", "participant_id": 3},
        {"text": "", "experiment": "frank2013_reading/eye_tracking", "participant_id": 4},
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("prompts.jsonl", "\n".join(map(json.dumps, records)))
    words = text(p1="Scott got", p2="It's")
    assert parsed("ucl_self_paced", words, path) == [
        ("3", "1", 0, 570.0), ("3", "1", 1, 417.0), ("3", "2", 0, 300.0)
    ]  # fmt: skip
    with pytest.raises(LingprobError, match=r"subject 3 read \"It's\", which is none"):
        parsed("ucl_self_paced", text(p1="Scott got"), path)


def test_maze_sentences_follow_from_the_last_times(tmp_path):
    """Sentence 1 has no times: it is what is left of the story."""
    path = saved(
        tmp_path / "maze.tsv",
        "rt\twlen\tunigramsurp\tsubject\tdocid\tsentid\tsentpos\n"
        "681\t3\t3.0\ts009\tBoar\t0\t2\n700\t2\t3.0\ts009\tBoar\t2\t2\n",
    )
    words = text(p1="If you go. / So. / We do it.")
    assert parsed("natural_stories_maze", words, path) == [
        ("s009", "1", 1, 681.0), ("s009", "1", 5, 700.0)
    ]  # fmt: skip
    last = saved(path, path.read_text().replace("Boar", "Tourettes"))
    assert parsed("natural_stories_maze", text(p10="If you go. / So. / We do it."), last) == [
        ("s009", "10", 1, 681.0), ("s009", "10", 5, 700.0)
    ]  # fmt: skip
    saved(path, path.read_text().replace("Tourettes", "Boar"))
    with pytest.raises(LingprobError, match="story 1, word 1 has 3 letters there and is 'they'"):
        parsed("natural_stories_maze", text(p1="If they go. / So. / We do it."), path)


def dundee_files(folder: Path) -> list[Path]:
    """Text 01: two lines on one screen. Reader a: fixates, goes on, returns, blinks, refixates."""
    words = ["Are", "tourists", "enticed", "by", "these", "attractions?"]
    lines = [1, 1, 1, 2, 2, 2]
    text_file = "".join(
        f"{word} 1 1 {line} {place} {place} 0 {len(word)} {len(word)} 0 0 0 {place} 1\n"
        for place, (word, line) in enumerate(zip(words, lines, strict=True), start=1)
    )
    fixations = [
        (1, 200),
        (3, 150),
        (3, 50),
        (2, 120),
        (0, 90),
        (4, 100),
        (4, 60),
        (3, 70),
        (4, 30),
    ]
    rows = "".join(
        f"{words[number - 1] if number else '*Blink'} 1 1 5 5 1 {number or -99} {ms} 1 1 0 0\n"
        for number, ms in fixations
    )
    header = "WORD TEXT LINE OLEN WLEN XPOS WNUM FDUR OBLP WDLP LAUN TXFR\n"
    return [
        saved(folder / "tx01wrdp.dat", text_file, "cp1252"),
        saved(folder / "sa01ma1p.dat", header + rows, "cp1252"),
    ]


def test_dundee_first_passes_come_from_the_fixations_in_their_order(tmp_path):
    """Word 2 is read in a regression only; 3 and 4 are fixated twice in a row, then again later."""
    words = text(p1="Are tourists enticed", p2="by these attractions?")
    files = dundee_files(tmp_path)
    assert parsed("dundee_first_pass", words, *files) == [
        ("sa", "1", 0, 200.0), ("sa", "1", 2, 200.0), ("sa", "2", 0, 160.0)
    ]  # fmt: skip
    times = load_parser("corpus", "dundee_first_pass")(Source(files, words, {}, 0))
    assert times["saccade"].tolist() == [1, 2, 2]
    # The saccade to word 4 starts at 2, but word 3 was fixated earlier.
    assert times["previous_fixated"].tolist() == [True, False, True]
    assert times["at_edge"].tolist() == [True, True, True]


def test_a_saccade_starts_at_the_nearest_fixated_word_before(tmp_path):
    times = pd.DataFrame(
        {
            "subject_id": ["b"] * 3 + ["a"] * 7,
            "passage_id": ["1"] * 10,
            "word_index": [0, 1, 2, 0, 1, 2, 3, 4, 5, 7],
            "rt_ms": [0, 0, 300, 100, 0, np.nan, 200, 100, 0, 50.0],
        }
    )
    before, distance = saccades(times)
    assert distance.tolist() == [1, 2, 3, 1, 1, 2, 3, 1, 1, 3]
    assert before.tolist() == [True, False, False, True, True, False, False, True, True, False]


def simple_times(path: Path, rows: str) -> Path:
    return saved(path / "times.csv", "subject_id,passage_id,word_index,rt_ms,word\n" + rows)


WORDS = text(p1=" / ".join(["One two three four five."] * 8))


def test_exclusions_and_partitions_of_self_paced_times(tmp_path):
    """Sentences 0 to 7 and subjects 0 and 1: (0 + 2) mod 4 is exploratory, (1 + 2) held out."""
    rows = [(f"s{subject}", 1, word, 300.0) for subject in (10, 9) for word in range(len(WORDS))]
    frame = pd.DataFrame(rows, columns=["subject_id", "passage_id", "word_index", "rt_ms"])
    frame.loc[1, "rt_ms"] = 99.9
    frame.loc[2, "rt_ms"] = 3000.1
    frame.loc[3, "rt_ms"] = 3000.0
    frame.loc[6, "rt_ms"] = 100.0
    frame.to_csv(tmp_path / "times.csv", index=False)
    times = build_reading_times(
        "mine", {"parser": "reading_times_table", **SELF_PACED}, WORDS, [tmp_path / "times.csv"]
    )
    assert times["excluded"].fillna("kept").tolist()[:7] == [
        "sentence_boundary", "too_short", "too_long", "kept", "sentence_boundary",
        "sentence_boundary", "kept",
    ]  # fmt: skip
    # s9 comes before s10: numbers count as numbers.
    first = times[times["subject_id"] == "s9"].dropna(subset="partition")
    sentences = first.merge(WORDS, on=["passage_id", "word_index"])["sentence_index"]
    expected = ["fit", "fit", "exploratory", "held_out"]
    assert first["partition"].tolist() == [expected[n % 4] for n in sentences]
    second = times[(times["subject_id"] == "s10") & (times["word_index"] == 11)]
    assert second["partition"].tolist() == ["held_out"]
    counts = dict(count_exclusions(times).to_numpy().tolist())
    assert counts == {
        "sentence_boundary": 32, "too_short": 1, "too_long": 1, "fit": 22, "exploratory": 12,
        "held_out": 12,
    }  # fmt: skip


def test_exclusions_of_eye_tracking(tmp_path):
    words = text(p1=" / ".join(["a b c d e f g h."] * 8))
    rows = []
    for word in range(len(words)):
        # In the first sentence a saccade of five words, in the others one of four.
        skipped = word % 8 in ((1, 2, 3, 4) if word < 8 else (2, 3, 4))
        rows.append(("s1", 1, word, 0 if skipped else 200))
    frame = pd.DataFrame(rows, columns=["subject_id", "passage_id", "word_index", "rt_ms"])
    frame.to_csv(tmp_path / "times.csv", index=False)
    times = build_reading_times(
        "mine", {"parser": "reading_times_table", **EYE_TRACKING}, words, [tmp_path / "times.csv"]
    )
    reasons = times["excluded"].fillna("kept").tolist()[:8]
    assert reasons == [
        "sentence_boundary", "unfixated", "unfixated", "unfixated", "unfixated", "saccade", "kept",
        "sentence_boundary",
    ]  # fmt: skip
    assert times["previous_fixated"].tolist()[5:8] == [False, True, True]
    assert times["excluded"].fillna("kept").tolist()[8:15] == [
        "sentence_boundary", "kept", "unfixated", "unfixated", "unfixated", "kept", "kept",
    ]  # fmt: skip


def test_limits_belong_to_what_is_kept():
    """Five right answers, a saccade of four words, and times of 100 and 3,000 ms still count."""
    no_boundary = np.zeros(4, dtype=bool)
    times = pd.DataFrame({"rt_ms": [99.9, 100.0, 3000.0, 3000.1], "correct": 5})
    limits = {"min_ms": 100, "max_ms": 3000, "min_correct": 5}
    reasons = self_paced_reason(times, no_boundary, **limits)
    assert reasons.tolist() == ["too_short", None, None, "too_long"]
    times["correct"] = [4, 5, 4, 6]
    reasons = self_paced_reason(times, no_boundary, **limits)
    assert reasons.tolist() == ["comprehension", None, "comprehension", "too_long"]
    times = pd.DataFrame({"rt_ms": 200.0, "saccade": [1, 4, 5, 2], "at_edge": [0, 0, 1, 1]})
    reasons = eye_tracking_reason(times, no_boundary, max_saccade=4)
    assert reasons.tolist() == [None, None, "saccade", "line_or_screen_boundary"]
    times["rt_ms"] = [0.5, 0.0, np.nan, 1.0]
    reasons = eye_tracking_reason(times, no_boundary, max_saccade=4)
    assert reasons.tolist() == [None, "unfixated", "unfixated", "line_or_screen_boundary"]
    keys = {"subject_id": "s", "passage_id": "p", "word_index": range(4)}
    fixated, distances = saccades(times.assign(**keys))
    assert fixated.tolist() == [True, True, False, False]
    assert distances.tolist() == [1, 1, 2, 3]


def test_readers_of_four_right_answers_are_left_out(tmp_path):
    """More than four are asked for (leakage, Appendix B)."""
    rows = [
        f"s{correct}\t9\t{correct}\t1\t{word + 1}\t300\t{given}\t40\n"
        for correct in (4, 5, 6)
        for word, given in enumerate(WORDS["word"])
    ]
    header = "WorkerId\tWorkTimeInSeconds\tcorrect\titem\tzone\tRT\tword\tnItem\n"
    path = saved(tmp_path / "processed_RTs.tsv", header + "".join(rows))
    entry = {"parser": "natural_stories_spr", **SELF_PACED}
    times = build_reading_times("mine", entry, WORDS, [path])
    excluded = times.assign(poor=times["excluded"].eq("comprehension")).groupby("subject_id")
    assert excluded["poor"].mean().to_dict() == {"s4": 1.0, "s5": 0.0, "s6": 0.0}


def test_sentences_are_numbered_through_all_passages():
    words = text(p1="a b. / c.", p2="d. / e.")
    assert sentence_numbers(words).tolist() == [0, 0, 1, 2, 3]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("s1,1,0,fast,One\n", r"times.csv, data row 1, column 'rt_ms': not a number: 'fast'"),
        ("s1,1,0,inf,One\n", r"times.csv, data row 1, column 'rt_ms': infinite"),
        ("s1,1,0,300,One\ns1,1,0,310,One\n", r"'s1' has two reading times for word 0"),
        ("s1,1,99,300,One\n", r"word 99 of passage '1' \('One'\), which the text does not have"),
        ("s1,1,1,300,seven\n", r"word 1 of passage '1' is 'seven' .* 'two' in the text"),
        ("s1,1,1,50,two\n", r"no reading time is left in the partition 'fit' \(of 1, 1 are"),
        ("s1,1,1.5,300,two\n", r"'word_index': no whole number: '1.5'"),
        ("s1,1,inf,300,two\n", r"data row 1, column 'word_index': infinite"),
        ("s1,1,-1,300,two\n", r"'word_index': below 0: '-1'"),
        (",1,1,300,two\n", r"data row 1, column 'subject_id': no value"),
        ("s1,1,1,-300,two\n", r"'rt_ms': below 0: -300.0"),
        ("s1,1,1,.3,two\ns1,1,2,.41,three\ns1,1,3,0,four\n",
         r"half of the times are below 0.355 ms. Are they seconds or logarithms\?"),
        ("s1,1,1,,two\n", r"column 'rt_ms': all of it is empty"),
        ("s1,1,1,300,two, three\n", r"line 2: 6 fields, where .* 5.* in quotation marks"),
        ("", r"times.csv: no rows"),
    ],
)  # fmt: skip
def test_bad_times_are_one_clear_message(tmp_path, rows, message):
    path = simple_times(tmp_path, rows)
    with pytest.raises(LingprobError, match=message):
        build_reading_times("mine", {"parser": "reading_times_table", **SELF_PACED}, WORDS, [path])


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("s1,01x,0,300\ns1,01x,1,310\n", "'s1'.* word 0 of passage '01x', .* as have 2 rows"),
        ("s1,1,0,300\ns2,1,40,310\n", "'s2'.* word 40 of passage '1', .* as have 1 rows"),
    ],
)
def test_times_of_words_that_the_text_lacks_are_refused(tmp_path, rows, message):
    path = saved(tmp_path / "times.csv", "subject_id,passage_id,word_index,rt_ms\n" + rows)
    with pytest.raises(LingprobError, match=message):
        build_reading_times("mine", {"parser": "reading_times_table", **SELF_PACED}, WORDS, [path])


def test_words_that_part_from_the_text_are_named_with_their_place(tmp_path):
    path = saved(
        tmp_path / "reader_9_reading_measures.csv",
        "para_nr,word,word_nr,gaze_duration\n" + "".join(f"1,x{n},{n},1\n" for n in range(9)),
    )
    message = r"'1': the reading times and the text part at word 0.*'There'.*'x0'; only 0%"
    with pytest.raises(LingprobError, match=message):
        parsed("provo_motr", text(p1="There are now"), path)


def test_a_text_of_other_words_in_as_many_places_is_refused():
    """Every fourth word is the text's, the three between are others: no typing errors."""
    expected = [f"w{number}" for number in range(400)]
    found = [word if number % 4 == 0 else f"x{number}" for number, word in enumerate(expected)]
    message = r"mine: .* part at word 1, .* 'w1' .* 'x1'; only 25% of the words are found again"
    with pytest.raises(LingprobError, match=message):
        align_words(found, expected, "mine")
    found = [word if number % 30 else f"x{number}" for number, word in enumerate(expected)]
    assert align_words(found, expected, "mine").tolist() == list(range(400))
    # 95% of the words, and no more, are found again: just enough.
    found = [word if number % 20 else f"x{number}" for number, word in enumerate(expected)]
    assert align_words(found, expected, "mine").tolist() == list(range(400))
    found[1] = "y"
    with pytest.raises(LingprobError, match="only 95%"):
        align_words(found, expected, "mine")


@pytest.mark.parametrize("others", [1, 2])
def test_one_word_in_twenty_may_be_another_and_two_may_not(others):
    words = text(p1=" ".join(f"w{n}" for n in range(20)))
    times = words.assign(word=[*["x"] * others, *words["word"][others:]])
    if others == 1:
        check_words(times, words, "here")
    else:
        with pytest.raises(LingprobError, match=r"word 0 of passage '1' is 'x'.*as are 2 words"):
            check_words(times, words, "here")


@pytest.mark.parametrize("typed", [3, 4])
def test_three_words_may_be_mistyped_in_a_row_and_four_are_other_words(typed):
    expected = [f"w{n}" for n in range(100)]
    found = [*(f"x{n}" for n in range(typed)), *expected[typed:]]
    place = align_words(found, expected, "here")
    assert place.tolist() == [*(range(3) if typed == 3 else [-1] * 4), *range(typed, 100)]


def test_a_frequent_word_counts_among_typing_errors():
    """Two other words to either side of the one that stands at every tenth place."""
    expected = [f"w{n}" if n % 10 else "the" for n in range(300)]
    found = [f"x{n}" if n in (148, 149, 151, 152) else word for n, word in enumerate(expected)]
    assert align_words(found, expected, "here").tolist() == list(range(300))


def test_rows_of_words_that_are_left_out_are_told(caplog):
    words = text(p1=" ".join(f"w{number}" for number in range(30)))
    times = pd.DataFrame(
        {"passage_id": "1", "number": range(31), "word": [*words["word"], "more"], "rt_ms": 300.0}
    )
    with caplog.at_level("WARNING"):
        found = attach_words(pd.concat([times, times]), words, "mine")
    assert len(found) == 60
    assert "mine: 2 of 62 rows are left out" in caplog.text
    assert "'more'" in caplog.text


def test_another_number_of_subjects_and_an_unknown_parser_are_refused(tmp_path):
    path = simple_times(tmp_path, "s1,1,1,300,two\n")
    entry = {"parser": "reading_times_table", **SELF_PACED, "subjects": 2}
    with pytest.raises(LingprobError, match="1 subjects, but 2 are expected"):
        build_reading_times("mine", entry, WORDS, [path])
    with pytest.raises(LingprobError, match=r"unknown parser 'geco'.*geco_total"):
        build_reading_times("mine", {**entry, "parser": "geco"}, WORDS, [path])


def test_subjects_are_numbered_by_their_names_numbers_and_those_without_come_first():
    names = ["s10", "s2", "s1", "b", "s0"]  # numbered 4, 3, 2, 0 and 1
    times = pd.DataFrame({"subject_id": names * 2, "sentence": [0] * 5 + [1] * 5})
    assert partitions(times).tolist() == [
        "fit", "held_out", "exploratory", "fit", "fit",
        "fit", "fit", "held_out", "fit", "exploratory",
    ]  # fmt: skip
