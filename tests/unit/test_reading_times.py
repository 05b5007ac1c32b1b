"""Reading times of every corpus, from small files in the format that its authors document."""

import json
import zipfile
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.reading import self_paced
from lingprob.reading.tables import Source, read, read_times
from lingprob.reading.texts import build_words
from lingprob.reading.times import (
    build_reading_times,
    count_exclusions,
    exclusions,
    load_parser,
    partitions,
    saccades,
    sentence_boundaries,
    sentence_numbers,
)
from words_for_tests import words_of

SELF_PACED = {"method": "self_paced", "unit": "subject"}


def text(**passages: str) -> pd.DataFrame:
    """A `words` table from passages whose sentences are separated by ' / '."""
    rows = []
    for name, content in passages.items():
        index = 0
        for sentence, words in enumerate(content.split(" / ")):
            for word in words.split():
                rows.append((name.removeprefix("p"), index, word, sentence))
                index += 1
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])


def rows_of(times: pd.DataFrame) -> list[tuple[Any, ...]]:
    rows = times[["subject_id", "passage_id", "word_index", "rt_ms"]].astype(object)
    return list(rows.where(rows.notna(), None).itertuples(index=False, name=None))


def parsed(parser: str, words: pd.DataFrame, *files: Path, **entry: Any) -> list[tuple[Any, ...]]:
    times = load_parser("corpus", parser)(Source(files, words, {"parser": parser, **entry}, 0))
    return rows_of(times.sort_values(["subject_id", "passage_id", "word_index"]))


def saved(path: Path, content: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(content.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("parser", "name", "content", "words", "found"),
    [
        ("brown_spr_means", "brown.tsv",
         "docid\tsentid\tsentpos\tword\tmean_rt\nd00\t0\t1\tIn\t\nd00\t0\t2\tIreland's\t335.85\n"
         "d01\t1\t1\tIt\t300\n", text(pd00="In Ireland's", pd01="It"),
         [("mean", "d00", 0, None), ("mean", "d00", 1, 335.85), ("mean", "d01", 0, 300.0)]),
        ("natural_stories_means", "processed_wordinfo.tsv",
         "word\tzone\titem\tnItem\tmeanItemRT\tsdItemRT\tgmeanItemRT\nyou\t2\t1\t9\t301.5\t80\t290\n",
         text(p1="If you"), [("mean", "1", 1, 301.5)]),
        # Of the raw report, with words numbered by area. Skipped words are not fixated. The last
        # word is fixated in a later pass.
        ("provo_first_pass", "Provo.csv",
         "RECORDING_SESSION_LABEL,Participant_ID,Text_ID,Word_Number,Word,IA_ID,IA_LABEL,"
         "IA_FIRST_RUN_DWELL_TIME,IA_DWELL_TIME,IA_SKIP\n"
         "80,Sub01,1,2,are,2,are,147,150,0\n80,Sub01,1,3,now,3,now,,0,1\n"
         '80,Sub01,1,4,"space,",4,"space,",204,204,1\n80,Sub01,1,NA,NA,1,There,169,169,0\n',
         text(p1="There are now space,"),
         [("Sub01", "1", place, time) for place, time in enumerate([169.0, 147.0, None, None])]),
        ("ucl_first_pass", "eyetracking.RT.txt",
         "subj_nr\tsent_nr\tsent_pos\tcorrect\tanswer_time\tword_pos\tword\tRTfirstfix\tRTfirstpass"
         "\tRTrightbound\tRTgopast\n1\t7\t127\t-\tNaN\t1\tIt\u2019s\t216\t348\t350\t360\n",
         text(p7="It\u2019s here."), [("1", "7", 0, 348.0)]),
    ],
)  # fmt: skip
def test_times_of_one_file_by_hand(tmp_path, parser, name, content, words, found):
    encoding = "cp1252" if parser == "ucl_first_pass" else "utf-8"
    assert parsed(parser, words, saved(tmp_path / name, content, encoding)) == found


def test_natural_stories_by_subject(tmp_path):
    header = "WorkerId\tWorkTimeInSeconds\tcorrect\titem\tzone\tRT\tword\tnItem\n"
    path = saved(
        tmp_path / "processed_RTs.tsv",
        header
        + 'A1\t9\t6\t1\t1\t400\t"If\t2\nA1\t9\t6\t1\t3\t500.5\tgo.\t2\nB2\t8\t4\t1\t1\t99\tif\t2\n',
    )
    words = text(p1='"If you go.', p2="So we do it.")
    assert parsed("natural_stories_spr", words, path) == [
        ("A1", "1", 0, 400.0), ("A1", "1", 2, 500.5), ("B2", "1", 0, 99.0)
    ]  # fmt: skip
    times = load_parser("corpus", "natural_stories_spr")(Source([path], words, {}, 0))
    assert times["correct"].tolist() == [6, 6, 4]
    for changed, message in (
        ("A1\t9\t6\t1\t2\t400\tThey\t2\n", "word 1 of passage '1' is 'They' .* 'you' in the text"),
        ("A1\t9\t6\t7\t1\t400\tSo\t2\n", r"word 0 of passage '7' \('So'\), which the text does"),
    ):
        other = saved(tmp_path / "other.tsv", header + changed)
        for shift in (0, 1):
            with pytest.raises(LingprobError, match=message):
                parsed("natural_stories_spr", words, other, zone_shift=shift)
    # The old release: a zone has the time of the word after it, the last zone of no word.
    assert parsed("natural_stories_spr", words, path, zone_shift=1) == [
        ("A1", "1", 1, 400.0), ("B2", "1", 1, 99.0)
    ]  # fmt: skip


def test_brown_by_subject_counts_from_0(tmp_path):
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


def test_provo_means_have_no_places(tmp_path):
    path = saved(
        tmp_path / "provo.csv",
        ",sentence_num,word,first_fix_dur,first_pass_dur,total_fix_dur\n"
        "0,0,are,1,146.9,2\n1,0,now,1,145.6,2\n2,1,ran,1,0.0,2\n3,2,sat,1,99.0,2\n",
    )
    words = text(p1="There are now", p10="They sat", p2="He ran")
    assert parsed("provo_first_pass_means", words, path) == [
        ("mean", "1", 1, 146.9), ("mean", "1", 2, 145.6), ("mean", "10", 1, 99.0),
        ("mean", "2", 1, 0.0),
    ]  # fmt: skip
    times = load_parser("provo", "provo_first_pass_means")(Source([path], words, {}, 0))
    assert times["saccade"].tolist() == [1.0] * 4


MATERIAL = "WORD_ID,SENTENCE_ID,WORD\n1-5-1,1-1,the\n1-5-2,1-1, \n1-5-3,1-1,end\n2-1-1,2-9,So\n"
PRINTED = text(p1="the bitter end.", p2="So")
NOVEL = "CHAPTER I. ONE\n\nthe bitter end.\n\nCHAPTER II. TWO\n\nSo\n"


@pytest.fixture
def printed(tmp_path) -> list[Path]:
    """GECO's material and the novel."""
    return [saved(tmp_path / "material.csv", MATERIAL), saved(tmp_path / "novel.txt", NOVEL)]


def test_geco_first_pass(tmp_path, printed, monkeypatch):
    """A dot means no fixation. Later fixations of a word that was skipped do not count.

    The material has lost the word 'bitter', but not its number.
    """
    data = saved(
        tmp_path / "MonolingualReadingData.csv",
        "PP_NR,GROUP,PART,TRIAL,WORD_ID,WORD,WORD_GAZE_DURATION,WORD_SKIP\n"
        "pp21,monolingual,1,5,1-5-1,the,200,0\npp21,monolingual,1,5,1-5-2,bitter,180,1\n"
        "pp21,monolingual,1,5,1-5-3,end.,.,1\npp21,monolingual,2,1,2-1-1,So,150,0\n",
    )
    assert parsed("geco_first_pass", PRINTED, data, *printed) == [
        ("pp21", "1", 0, 200.0), ("pp21", "1", 1, None), ("pp21", "1", 2, None),
        ("pp21", "2", 0, 150.0),
    ]  # fmt: skip
    saved(printed[0], MATERIAL.replace("1-5-1", "9-5-1"))
    with pytest.raises(LingprobError, match=r"only 75% of the words.*'1-5-1'"):
        parsed("geco_first_pass", PRINTED, data, *printed)
    # Fewer such rows are left out.
    monkeypatch.setattr("lingprob.reading.eye_tracking.SMALLEST_SHARE", 0.75)
    assert len(parsed("geco_first_pass", PRINTED, data, *printed)) == 3


def test_readers_have_files_of_their_own(tmp_path, printed):
    rows = ",sentence_id,word_id,word_id_orig,word,TRT,relFix\n0,0,0,1-5-1,the,381.0,.1\n"
    rows += "2,1,0,1-5-3,end,0.0,.2\n"
    files = [saved(tmp_path / f"pp{reader}-relfix-feats.csv", rows) for reader in (21, 3)]
    assert parsed("geco_total", PRINTED, *printed, *files) == [
        (reader, "1", *time) for reader in ("pp21", "pp3") for time in ((0, 381.0), (2, 0.0))
    ]
    # Words are found again, whatever their numbers.
    rows = "".join(f"8,9,1,w{n},{n + 5},{n * 10}\n" for n in range(1, 31) if n != 7)
    rows = f"expr_id,cond_id,para_nr,word,word_nr,gaze_duration\n{rows}"
    files = [saved(tmp_path / f"reader_{reader}_measures.csv", rows) for reader in (3, 9)]
    assert parsed("provo_motr", text(p1=" ".join(f"w{n}" for n in range(1, 31))), *files) == [
        (reader, "1", n - 1, n * 10.0) for reader in "39" for n in range(1, 31) if n != 7
    ]


def test_ucl_self_paced_typing_errors_are_corrected(tmp_path):
    path = tmp_path / "prompts.jsonl.zip"
    trials = (
        "Read.\n\nTrial 1:\n  Word 1: 'Sott'  <<570>> ms\n  Word 2: 'got'  <<417>> ms\n"
        "  Question: 'Did he?' You answer <<n>>.\n\nTrial 2:\n  Word 1: 'It's'  <<300>> ms\n"
    )
    records = [
        {"text": trials, "experiment": "frank2013_reading/self_paced_reading", "participant_id": 3},
        {"text": trials, "experiment": "frank2013_reading/eye_tracking", "participant_id": 4},
    ]
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("prompts.jsonl", "\n".join(map(json.dumps, records)))
    words = text(p1="Scott got", p2="It's")
    assert parsed("ucl_self_paced", words, path) == [
        ("3", "1", 0, 570.0), ("3", "1", 1, 417.0), ("3", "2", 0, 300.0)
    ]  # fmt: skip
    with pytest.raises(LingprobError, match=r"subject 3 read \"It's\", which is none"):
        parsed("ucl_self_paced", text(p1="Scott got"), path)


def test_saccades_start_at_the_nearest_fixated_word(tmp_path):
    times = pd.DataFrame(
        {
            "subject_id": ["b"] * 3 + ["a"] * 7,
            "passage_id": ["1"] * 10,
            "word_index": [2, 1, 0, 0, 1, 2, 3, 4, 5, 7],
            "rt_ms": [300, 0, 0, 100, 0, np.nan, 200, 100, 0, 50.0],
        }
    )
    before, distance = saccades(times)
    assert distance.tolist() == [3, 2, 1, 1, 1, 2, 3, 1, 1, 3]
    assert before.tolist() == [False, False, True, True, True, False, False, True, True, False]


def simple_times(folder: Path, rows: str, *more: str) -> Path:
    """Save times in the columns of own data and some more."""
    header = ",".join(["subject_id,passage_id,word_index,rt_ms", *more])
    return saved(folder / "times.csv", f"{header}\n{rows}")


OWN = {"parser": "reading_times_table", **SELF_PACED}
WORDS = text(p1=" / ".join(["One two three four five."] * 8))


def test_exclusions_and_partitions_of_self_paced_times(tmp_path):
    """Sentences 0 to 7 and subjects 0 and 1: (0 + 2) mod 4 is exploratory, (1 + 2) held out."""
    rows = [(f"s{subject}", 1, word, 300.0) for subject in (10, 9) for word in range(len(WORDS))]
    frame = pd.DataFrame(rows, columns=["subject_id", "passage_id", "word_index", "rt_ms"])
    frame.loc[1, "rt_ms"] = 99.9
    frame.loc[2, "rt_ms"] = 3000.1
    frame.to_csv(tmp_path / "times.csv", index=False)
    times = build_reading_times("mine", OWN, WORDS, [tmp_path / "times.csv"])
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
    assert count_exclusions(times).to_numpy().tolist() == [
        ["sentence_boundary", 32], ["too_short", 1], ["too_long", 1], ["fit", 22],
        ["exploratory", 12], ["held_out", 12],
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("s1,1,0,fast,One\n", r"times.csv, data row 1, column 'rt_ms': not a number: 'fast'"),
        ("s1,1,0,300,One\ns1,1,0,310,One\n", r"'s1' has two reading times for word 0"),
        ("s1,1,99,300,One\n", r"word 99 of passage '1' \('One'\), which the text does not have"),
        ("s1,1,1,300,seven\n", r"word 1 of passage '1' is 'seven' .* 'two' in the text"),
        ("s1,1,1,50,two\n", r"no reading time is left in the partition 'fit' \(of 1, 1 are"),
        ("s1,1,1,300,two\n", r"left in the partition 'exploratory' \(of 1, 0 are excluded\)"),
        ("s1,1,1.5,300,two\n", r"'word_index': no whole number: '1.5'"),
        (",1,1,300,two\n", r"data row 1, column 'subject_id': no value"),
        ("s1,1,1,-300,two\n", r"'rt_ms': below 0: -300.0"),
        ("s1,1,1,,two\n", r"column 'rt_ms': all of it is empty"),
        ("s1,1,1,300,two, three\n", r"line 2: 6 fields, but .* 5.* in quotation marks"),
        ("s1,01x,0,300\ns1,01x,1,310\n", "'s1'.* word 0 of passage '01x', .* as have 2 rows"),
        ("s1,1,0,300\ns2,1,40,310\n", "'s2'.* word 40 of passage '1', .* as have 1 rows"),
    ],
)  # fmt: skip
def test_bad_times_are_one_clear_message(tmp_path, rows, message):
    words = ["word"] if rows.partition("\n")[0].count(",") > 3 else []
    path = simple_times(tmp_path, rows, *words)
    with pytest.raises(LingprobError, match=message):
        build_reading_times("mine", OWN, WORDS, [path])


def test_unexpected_subjects_and_parsers_are_refused(tmp_path):
    path = simple_times(tmp_path, "s1,1,1,300,two\n", "word")
    with pytest.raises(LingprobError, match="1 subjects, not 2"):
        build_reading_times("mine", {**OWN, "subjects": 2}, WORDS, [path])
    with pytest.raises(LingprobError, match=r"unknown parser 'geco'.*geco_total"):
        build_reading_times("mine", {**OWN, "parser": "geco"}, WORDS, [path])


def test_subjects_are_numbered_by_their_names():
    names = ["s10", "s2", "s1", "b", "s0"]  # numbered 4, 3, 2, 0 and 1
    times = pd.DataFrame({"subject_id": names * 2, "sentence": [0] * 5 + [1] * 5})
    assert partitions(times).tolist() == [
        "fit", "held_out", "exploratory", "fit", "fit",
        "fit", "fit", "held_out", "fit", "exploratory",
    ]  # fmt: skip


def test_partitions_balance_conditions_of_latin_squares():
    """Reader r reads item i in condition (r + i) mod 4. Conditions of an item follow each other."""
    rows = [
        (f"s{r}", "abcd"[(r + i) % 4], 4 * i + (r + i) % 4) for r in range(8) for i in range(16)
    ]
    times = pd.DataFrame(rows, columns=["subject_id", "condition", "sentence"])
    times["partition"] = partitions(times)
    shares = times.groupby(["subject_id", "condition", "partition"]).size().unstack()
    assert (shares[["fit", "exploratory", "held_out"]] == [2, 1, 1]).all(axis=None)
    some = times["condition"].where(times.index > 0)
    plain = times.drop(columns=["condition", "partition"])
    assert partitions(plain.assign(condition=some)).equals(partitions(plain))
    words = pd.concat([times, times.assign(condition="e")], ignore_index=True)
    assert partitions(words).equals(partitions(words.drop(columns="condition")))


DUNDEE = load_parser("dundee", "dundee_first_pass")


def maze(tmp_path: Path, words: pd.DataFrame, rows: str) -> list[tuple[Any, ...]]:
    path = saved(tmp_path / "m", "rt\twlen\tsubject\tdocid\tsentid\tsentpos\n" + rows)
    return rows_of(load_parser("maze", "natural_stories_maze")(Source([path], words, {}, 0)))


def test_maze_sentences_are_numbered_through_all_stories(tmp_path):
    """Sentence 2, the first of the second story, has no times: it is the rest."""
    words = words_of("If you go. So we do.", "He is in. A man ran off.")
    last = words_of("If you go. So. We do it.").assign(passage_id="10")
    for given, rows, expected in (
        (words, "1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t1\t2\n3\t3\ta\tAqua\t3\t3\n",
         [("a", "1", 1, 1.0), ("a", "1", 4, 2.0), ("a", "2", 5, 3.0)]),
        (words, "1\t2\ta\tAqua\t0\t2\n3\t3\ta\tAqua\t1\t3\n",
         [("a", "2", 1, 1.0), ("a", "2", 5, 3.0)]),
        (words, "1\t2\ta\tBoar\t1\t2\n3\t3\ta\tAqua\t3\t3\n",
         [("a", "1", 4, 1.0), ("a", "2", 5, 3.0)]),
        (last, "1\t3\ta\tTourettes\t0\t2\n2\t2\ta\tTourettes\t2\t2\n",
         [("a", "10", 1, 1.0), ("a", "10", 5, 2.0)]),
    ):  # fmt: skip
        assert maze(tmp_path, given, rows) == expected
    for fault, said in (
        ("1\t4\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t1\t2\n3\t3\ta\tAqua\t3\t3\n",
         "story 1, word 1 has 4 letters there and is 'you'"),
        ("1\t3\ta\tBoar\t0\t2\n", "have 3 words, the text 6, and 0 sentences"),
        ("1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t3\t2\n", "have 6 words, the text 6, and 2 sent"),
        ("1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t3\t1\n", "have 5 words, the text 6, and 2 sent"),
        ("1\t3\ta\tBoar\t0\t6\n", "have 7 words, the text 6"),
        ("1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t2\t2\n", "have 6 words, the text 6, and 1 sent"),
    ):  # fmt: skip
        with pytest.raises(LingprobError, match=said):
            maze(tmp_path, words, fault)


def dundee_text(path: Path, rows: list[tuple[str, int, int]]) -> Path:
    """Words with their screen and line, in thirteen fields."""
    return saved(
        path,
        "".join(
            f"{word} 1 {screen} {line} 1 1 0 1 1 0 0 0 {place}\n"
            for place, (word, screen, line) in enumerate(rows, start=1)
        ),
    )


def fixations(path: Path, *numbers: int) -> Path:
    """Fixations of 100, 101 ... ms on words by number; of a negative number, a blink there."""
    rows = (
        f"{'*Blink' if number < 0 else 'x'} 1 1 5 5 1 {abs(number)} {100 + place} 1 1\n"
        for place, number in enumerate(numbers)
    )
    return saved(path, "WORD TEXT LINE OLEN WLEN XPOS WNUM FDUR OBLP WDLP\n" + "".join(rows))


def test_dundee_first_passes_of_several_texts(tmp_path):
    """Each screen begins with line 1. Reader a goes back to word 2 and on to 4, b from 1 to 4."""
    first = [("a", 1, 1), ("b", 1, 1), ("c", 2, 1), ("d", 2, 1), ("e", 2, 1), ("f", 2, 2)]
    files = [
        fixations(tmp_path / "sb02ma1p.dat", 2),
        fixations(tmp_path / "sb01ma1p.dat", 1, 4, 0, 3, 4, 5, 6),
        fixations(tmp_path / "sa01ma1p.dat", 1, 2, 2, 3, -3, 1, 1, 3, 2, 4),
        dundee_text(tmp_path / "tx02wrdp.dat", [("g", 1, 1), ("h", 1, 1)]),
        dundee_text(tmp_path / "tx01wrdp.dat", first),
    ]
    words = words_of("a b c d", "e f g h")
    found = DUNDEE(Source(files, words, {}, 0))
    assert rows_of(found) == [
        ("sa", "1", 0, 100.0), ("sa", "1", 1, 101.0 + 102.0), ("sa", "1", 2, 103.0),
        ("sa", "1", 3, 109.0), ("sb", "1", 0, 100.0), ("sb", "1", 3, 101.0),
        ("sb", "2", 0, 105.0), ("sb", "2", 1, 106.0), ("sb", "2", 3, 100.0),
    ]  # fmt: skip
    assert found["saccade"].tolist() == [1, 1, 1, 2, 1, 3, 1, 1, 2]
    assert found["previous_fixated"].tolist() == [True] * 5 + [False, True, True, False]
    assert found["at_edge"].tolist() == [True] * 3 + [False, True, False, True, True, True]
    for left in (files[:3], files[3:]):
        with pytest.raises(LingprobError, match="list its txNN"):
            DUNDEE(Source(left, words, {}, 0))
    short = saved(files[4], "a 1 1 1 1 1 0 1 1 0 0 0\n")
    with pytest.raises(LingprobError, match="a line with 12 fields, not 13"):
        DUNDEE(Source([*files[:4], short], words, {}, 0))
    fault = saved(files[2], "WORD\nx 1 1 5 5 1 1 100 1\n\nx 1 1 5 5 1 one 100 1\n")
    with pytest.raises(LingprobError, match="row 4: no word number and duration in 'x 1"):
        DUNDEE(Source([fault, *files[3:4], dundee_text(files[4], first)], words, {}, 0))


def test_first_passes_end_off_the_screen(tmp_path, monkeypatch):
    """Reader a looks away between two fixations of b, and reader b blinks. The text has no dash."""
    monkeypatch.setattr("lingprob.reading.tables.SMALLEST_SHARE", 0.75)
    files = [
        dundee_text(tmp_path / "tx01wrdp.dat", [(word, 1, 1) for word in "a-bc"]),
        fixations(tmp_path / "sa01ma1p.dat", 1, 3, 0, 3, 4),
        fixations(tmp_path / "sb01ma1p.dat", 1, 3, -3, 3, 4),
        fixations(tmp_path / "sc01ma1p.dat", 1, 3, -3, 3, 4),
    ]
    saved(files[3], files[3].read_text().replace("*Blink", "*Off-screen"))
    found = DUNDEE(Source(files, words_of("a b c"), {}, 0))
    second = found[found["word_index"] == 1].set_index("subject_id")["rt_ms"]
    assert second.to_dict() == {"sa": 101.0, "sb": 101.0 + 103.0, "sc": 101.0}


def test_simulated_times_by_hand():
    """Word by word: a reader's pace, a letter's cost, 40 ms if rare, 20 ms after a rare word."""
    words = words_of("The dog saw", "the cat dog sleeping")
    random, expected = np.random.default_rng(5), []
    for reader in range(1, 9):
        pace, letter = random.normal(250, 40), random.normal(10, 4)
        noise = random.lognormal(0, 0.2, 7)
        rare = [0, 0, 1, 0, 1, 0, 1]
        for row, word in enumerate(words.itertuples()):
            mean = pace + letter * len(word.word) + 40 * rare[row]
            mean += 20 * rare[row - 1] if row else 0
            expected.append((f"s{reader}", word.passage_id, word.word_index, mean * noise[row]))
    entry = {"parser": "demo_reading_times", **SELF_PACED}
    words = words.assign(sentence_index=[0, 0, 0, 0, 1, 1, 1])
    built = build_reading_times("demo", entry, words, [], seed=5)
    found = rows_of(self_paced.demo_reading_times(Source([], words, {}, 5)))
    assert rows_of(built) == found
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected])


def test_first_sheet_is_read_as_text(tmp_path):
    path = tmp_path / "t.xlsx"
    cells = {"a": ["01", ""], "b": [1, 2], "c": [0.25, None], "d": [".", 187], "e": ["NA", True]}
    with pd.ExcelWriter(path) as book:
        pd.DataFrame(cells).to_excel(book, sheet_name="x", index=False)
        pd.DataFrame({"a": ["other"]}).to_excel(book, sheet_name="y", index=False)
    found = read(path, ",", ["d", "c", "b", "a", "e"])
    assert found.to_dict("list") == {
        "d": [".", "187"], "c": ["0.25", ""], "b": ["1", "2"], "a": ["01", ""], "e": ["NA", "True"],
    }  # fmt: skip
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(LingprobError, match=r"t\.xlsx: cannot be read .*Download it again"):
        read(path, ",", ["a"])


FINE = {"rt_ms": 300.0, "correct": 6, "boundary": False, "saccade": 1, "at_edge": 0}
FAULTS: dict[str, dict[str, Any]] = {
    "missing": {"rt_ms": np.nan}, "comprehension": {"correct": 4},
    "sentence_boundary": {"boundary": True}, "too_short": {"rt_ms": 99.0},
    "too_long": {"rt_ms": 3001.0}, "unfixated": {"rt_ms": 0.0}, "saccade": {"saccade": 5},
    "line_or_screen_boundary": {"at_edge": 1},
}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "places"), [("self_paced", [0, 1, 2, 3, 4]), ("eye_tracking", [5, 6, 2, 7])]
)
def test_the_first_of_two_reasons_is_given(method, places):
    for first, second in combinations_with_replacement([[*FAULTS][n] for n in places], 2):
        times = pd.DataFrame([FINE | FAULTS[second] | FAULTS[first]])
        assert exclusions(times, method).tolist() == [first]


def test_limits_themselves_are_kept():
    """Five right answers (leakage, Appendix B), a saccade of four words, 100 and 3,000 ms."""
    times = pd.DataFrame({"rt_ms": [99.9, 100.0, 3000.0, 3000.1], "boundary": False, "correct": 5})
    found = exclusions(times, "self_paced").tolist()
    assert found == ["too_short", None, None, "too_long"]
    times["correct"] = [4, 5, 4, 6]
    found = exclusions(times, "self_paced").tolist()
    assert found == ["comprehension", None, "comprehension", "too_long"]
    times = times.assign(rt_ms=200.0, saccade=[1, 4, 5, 2], at_edge=[0, 0, 1, 1])
    found = exclusions(times, "eye_tracking").tolist()
    assert found == [None, None, "saccade", "line_or_screen_boundary"]
    times["rt_ms"] = [0.5, 0.0, np.nan, 1.0]
    found = exclusions(times, "eye_tracking").tolist()
    assert found == [None, "unfixated", "unfixated", "line_or_screen_boundary"]


def test_sentences_of_similar_numbers_are_apart():
    """Sentence 0 of passage 11 and sentence 10 of passage 1, which follows."""
    passages, sentences = ["11"] * 3 + ["1"] * 3, [0] * 3 + [10] * 3
    words = pd.DataFrame({"passage_id": passages, "sentence_index": sentences})
    assert sentence_boundaries(words).tolist() == [True, False, True] * 2
    assert sentence_numbers(words).tolist() == [0] * 3 + [1] * 3
    assert sentence_boundaries(words[:1]).tolist() == [True]


@pytest.mark.parametrize(("unit", "known"), [("subject", True), ("word", False)])
def test_means_have_no_previous_fixation(tmp_path, unit, known):
    """A saccade over five words that were passed over is too long."""
    words = words_of(*["One two three four five six seven eight nine."] * 8)
    times = words.assign(subject_id="mean", rt_ms=200, sentence="x", condition="c")
    times.loc[times["word_index"].between(2, 6), "rt_ms"] = 0
    times.to_csv(tmp_path / "t.csv", index=False)
    entry = {"parser": "reading_times_table", "method": "eye_tracking", "unit": unit}
    found = build_reading_times("mine", entry, words, [tmp_path / "t.csv"])
    expected = [True, True, True, *[False] * 5, True] if known else [None] * 9
    assert found["previous_fixated"].tolist() == expected * 8
    assert set(found["condition"]) == {"c"}
    assert found["excluded"].fillna("").tolist()[1:8] == ["", *["unfixated"] * 5, "saccade"]


def test_typed_columns_name_their_faults(tmp_path):
    path = saved(tmp_path / "t.csv", "a,b,c\n1,.,x\n2,1.5,NA\n3,,\n")
    found = read_times(path, ",", {"number": "a", "rt_ms": "b", "word": "c"})
    assert found["number"].tolist() == [1, 2, 3]
    assert found["rt_ms"].isna().tolist() == [True, False, True]
    assert found["word"].tolist() == ["x", "NA", ""]
    for column, said in (("number", "data row 2, column 'c': no"), ("correct", "row 1.*'x'")):
        with pytest.raises(LingprobError, match=said):
            read_times(path, ",", {column: "c"})
    with pytest.raises(LingprobError, match=r"no columns \['d'\]"):
        read_times(path, ",", {"word": "d"})


# A user's own tables.


def own_times(path: Path, words: pd.DataFrame, **entry: Any) -> pd.DataFrame:
    return load_parser("mine", "reading_times_table")(Source([path], words, entry, 0))


def test_columns_conditions_and_first_index_of_own_times(tmp_path):
    """Rows are shuffled, ids have gaps, and the condition names the passage with the item."""
    content = (
        "Row,cond,participant,itemno,position,region,RT\n"
        "9,b,p7,12,2,the dog,310.5\n3,a,p2,12,1,Then,\n8,a,p7,5,2,it,95\n7,b,p7,12,1,Then,400\n"
    )
    path = saved(tmp_path / "lab.csv", content)
    columns = {"subject_id": "participant", "item": "itemno", "condition": "cond",
               "word_index": "position", "word": "region", "rt_ms": "RT"}  # fmt: skip
    found = own_times(path, words_of("x"), columns=columns, first_index=1)
    keys = ["subject_id", "passage_id", "word_index", "word", "condition"]
    assert found[keys].to_numpy().tolist() == [
        ["p7", "12/b", 1, "the dog", "b"], ["p2", "12/a", 0, "Then", "a"],
        ["p7", "5/a", 1, "it", "a"], ["p7", "12/b", 0, "Then", "b"],
    ]  # fmt: skip
    assert found["rt_ms"].tolist()[::2] == [310.5, 95]
    assert np.isnan(found["rt_ms"][1])
    with pytest.raises(LingprobError, match="'position': below 2: '1'"):
        own_times(path, words_of("x"), columns=columns, first_index=2)
    with pytest.raises(LingprobError, match=r"no columns \['person'\]"):
        own_times(path, words_of("x"), columns=columns | {"subject_id": "person"})


def test_own_times_may_be_missing_but_not_seconds(tmp_path):
    """Twenty milliseconds in the middle are not yet seconds."""
    words = words_of("If you go.")
    rows = "s,1,0,20,\ns,1,1,.,x\ns,1,2,0,\n"
    found = own_times(simple_times(tmp_path, rows, "note"), words)
    assert found["rt_ms"].tolist()[::2] == [20, 0]
    assert np.isnan(found["rt_ms"][1])
    for rows, said in (
        ("s,1,0,19.9\n", r"below 19.9 ms \(1 of 1 readers\)\. Are they sec"),
        ("s,1,0,300\ns,1,1,300\ns,1,2,300\nt,1,0,0.3\n", r"'t' are below 0.3 ms \(1 of 2 readers"),
    ):
        with pytest.raises(LingprobError, match=said):
            own_times(simple_times(tmp_path, rows), words)


def test_names_of_own_times_ignore_outer_spaces(tmp_path, caplog):
    path = simple_times(tmp_path, "a,1,0,300,If\na ,1 ,1,310,you\n", "Word")
    found = own_times(path, words_of("If you go."))
    assert found[["subject_id", "passage_id"]].to_numpy().tolist() == [["a", "1"]] * 2
    assert "spelling: {word: Word}." in caplog.text
    named = "{subject_id: Subject ID, word_index: WordIndex}"
    path = saved(path, "Subject ID,passage_id,WordIndex,rt_ms\na,1,0,300\n")
    with pytest.raises(LingprobError, match=f"mean {named}\\?"):
        own_times(path, words_of("If you go."))


def test_two_files_of_own_data_are_refused(tmp_path):
    paths = [saved(tmp_path / name, "A b.\n") for name in ("a.txt", "b.txt")]
    with pytest.raises(LingprobError, match=r"mine\.path: 2 files, such as .*b\.txt, and one is"):
        build_words("mine", {"parser": "passages"}, paths)
    with pytest.raises(LingprobError, match=r"Join them to one file"):
        build_reading_times("mine", {"parser": "reading_times_table"}, words_of("x"), paths)


def test_means_are_one_time_per_word(tmp_path):
    path = simple_times(tmp_path, "a,1,0,300\nb,1,0,310\n")
    assert len(own_times(path, words_of("If you go."), unit="subject")) == 2
    with pytest.raises(LingprobError, match=r"data row 2.*second time.*unit: subject"):
        own_times(path, words_of("If you go."), unit="word")
    path = saved(path, "passage_id,word_index,rt_ms\n1,0,300\n")
    assert own_times(path, words_of("If you go."), unit="word")["subject_id"].tolist() == ["mean"]
