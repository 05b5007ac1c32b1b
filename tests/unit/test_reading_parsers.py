"""Parsers of reading times and of texts, and the alignment of their words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import Catalog
from lingprob.demo import MINIMAL_PAIRS
from lingprob.errors import LingprobError
from lingprob.reading import eye_tracking, self_paced
from lingprob.reading.alignment import align_words, attach_words, check_words
from lingprob.reading.predictors import perplexity, regression_frame, standardised
from lingprob.reading.surprisal import passages_of
from lingprob.reading.tables import Source, number, read, whole
from lingprob.reading.texts import build_words, passage_texts
from lingprob.reading.times import build_reading_times, load_parser, saccades, sentence_boundaries
from words_for_tests import words_of

NAMES = [f"w{number}" for number in range(60)]


def text(*passages: str) -> pd.DataFrame:
    """Passages 1, 2, ... of words."""
    rows = [
        (str(place), index, word)
        for place, content in enumerate(passages, start=1)
        for index, word in enumerate(content.split())
    ]
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word"])


def saved(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def rows_of(times: pd.DataFrame) -> list[tuple[Any, ...]]:
    columns = ["subject_id", "passage_id", "word_index", "rt_ms"]
    return list(times[columns].itertuples(index=False, name=None))


MAZE = "rt\twlen\tsubject\tdocid\tsentid\tsentpos\n"


def test_sentences_of_the_maze_are_numbered_through_all_stories(tmp_path):
    """Sentence 2, the first of the second story, has no times: it is what is left of it."""
    words = text("If you go. So we do.", "He is in. A man ran off.")
    rows = "1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t1\t2\n3\t3\ta\tAqua\t3\t3\n"
    found = self_paced.natural_stories_maze(
        Source([saved(tmp_path / "m", MAZE + rows)], words, {}, 0)
    )
    assert rows_of(found) == [("a", "1", 1, 1.0), ("a", "1", 4, 2.0), ("a", "2", 5, 3.0)]
    later = "1\t2\ta\tAqua\t0\t2\n3\t3\ta\tAqua\t1\t3\n"
    found = self_paced.natural_stories_maze(
        Source([saved(tmp_path / "m", MAZE + later)], words, {}, 0)
    )
    assert rows_of(found) == [("a", "2", 1, 1.0), ("a", "2", 5, 3.0)]
    for fault, said in (
        ("1\t3\ta\tBoar\t0\t2\n", "have 3 words, the text 6, and 0 sentences"),
        ("1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t3\t2\n", "have 6 words, the text 6, and 2 sent"),
        ("1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t3\t1\n", "have 5 words, the text 6, and 2 sent"),
        ("1\t3\ta\tBoar\t0\t6\n", "have 7 words, the text 6"),
        ("1\t3\ta\tBoar\t0\t2\n2\t2\ta\tBoar\t2\t2\n", "have 6 words, the text 6, and 1 sent"),
    ):
        path = saved(tmp_path / "m", MAZE + fault)
        with pytest.raises(LingprobError, match=said):
            self_paced.natural_stories_maze(Source([path], words, {}, 0))


def test_answers_come_with_the_times(tmp_path):
    header = "WorkerId\tcorrect\titem\tzone\tRT\tword\n"
    path = saved(tmp_path / "times", header + "A\t6\t1\t3\t400\tgo\nB\t4\t1\t2\tNA\tyou\n")
    found = self_paced.natural_stories(Source([path], text("If you go."), {}, 0))
    assert found["correct"].tolist() == [6, 4]
    assert found["word_index"].tolist() == [2, 1]
    assert found["rt_ms"].isna().tolist() == [False, True]
    # Of the word after: the last word's time is nobody's.
    later = self_paced.natural_stories(Source([path], text("If you go."), {"zone_shift": 1}, 0))
    assert later[["subject_id", "word_index"]].to_numpy().tolist() == [["B", 2]]


def test_own_times_may_lack_and_other_columns_do_not_count(tmp_path):
    """Twenty milliseconds in the middle are not yet seconds."""
    header = "subject_id,passage_id,word_index,rt_ms,note\n"
    path = saved(tmp_path / "t.csv", header + "s,1,0,20,\ns,1,1,,x\ns,1,2,0,\n")
    found = self_paced.table(Source([path], text("If you go."), {}, 0))
    assert found["rt_ms"].tolist()[::2] == [20, 0]
    assert np.isnan(found["rt_ms"][1])
    odd = saved(
        tmp_path / "t.jsonl", '{"subject_id": [1], "passage_id": 1, "word_index": 0, "rt_ms": 1}'
    )
    with pytest.raises(LingprobError, match=r"t\.jsonl, data row 1, column 'subject_id': not text"):
        self_paced.table(Source([odd], text("If you go."), {}, 0))
    with pytest.raises(LingprobError, match=r"below 19.9 ms\. Are they seconds"):
        self_paced.table(Source([saved(path, header + "s,1,0,19.9,\n")], text("If you go."), {}, 0))


def test_whole_numbers_are_exact_and_say_where_they_are_not():
    path = Path("t.csv")
    values = pd.Series(["1", "-3", str(2**53), str(-(2**53))], name="n")
    assert whole(path, values).tolist() == [1, -3, 2**53, -(2**53)]
    for fault in ("2.5", str(2**53 + 2)):
        with pytest.raises(LingprobError, match=r"data row 2, column 'n': '.*' is no whole number"):
            whole(path, pd.Series(["1", fault], name="n"))
    with pytest.raises(LingprobError, match="data row 1, column 'n': '' is not a number"):
        whole(path, pd.Series([""], name="n"))
    found = number(path, pd.Series(["1.5", "", "."], name="n"), missing=("", "."))
    assert found.isna().tolist() == [False, True, True]


def test_of_a_workbook_the_first_sheet_is_read_as_text(tmp_path):
    path = tmp_path / "t.xlsx"
    cells = {"a": ["01", ""], "b": [1, 2], "c": [0.25, None], "d": [".", 187], "e": ["NA", True]}
    with pd.ExcelWriter(path) as book:
        pd.DataFrame(cells).to_excel(book, sheet_name="x", index=False)
        pd.DataFrame({"a": ["other"]}).to_excel(book, sheet_name="y", index=False)
    found = read(path, ",", ["d", "c", "b", "a", "e"])
    assert found.to_dict("list") == {
        "d": [".", "187"], "c": ["0.25", ""], "b": ["1", "2"], "a": ["01", ""], "e": ["NA", "True"],
    }  # fmt: skip
    as_text = pd.read_excel(path, dtype=str, keep_default_na=False, engine="openpyxl")
    pd.testing.assert_frame_equal(found, as_text[[*"dcbae"]])


def test_a_workbook_that_is_none_or_lacks_a_column_is_named(tmp_path):
    path = tmp_path / "t.xlsx"
    pd.DataFrame({"a": ["01"]}).to_excel(path, index=False)
    with pytest.raises(LingprobError, match=r"t\.xlsx: no column 'b', but \['a'\]"):
        read(path, ",", ["a", "b"])
    path.write_bytes(path.read_bytes()[:900])
    with pytest.raises(LingprobError, match=r"t\.xlsx: cannot be read .*Fetch the file again"):
        read(path, ",", ["a"])
    pd.DataFrame().to_excel(path, index=False)
    with pytest.raises(LingprobError, match=r"t\.xlsx: no column 'a'"):
        read(path, ",", ["a"])


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
    rows = (f"x 1 1 5 5 1 {number} {100 + place} 1 1\n" for place, number in enumerate(numbers))
    return saved(path, "WORD TEXT LINE OLEN WLEN XPOS WNUM FDUR OBLP WDLP\n" + "".join(rows))


def test_dundee_has_lines_on_screens_and_readers_of_several_texts(tmp_path):
    """Each screen begins with line 1. Reader b goes from word 1 to 4, and then reads on."""
    first = [("a", 1, 1), ("b", 1, 1), ("c", 2, 1), ("d", 2, 1), ("e", 2, 1), ("f", 2, 2)]
    files = [
        fixations(tmp_path / "sb02ma1p.dat", 2),
        fixations(tmp_path / "sb01ma1p.dat", 1, 4, 0, 3, 4, 5, 6),
        fixations(tmp_path / "sa01ma1p.dat", 1, 2, 2, 3),
        dundee_text(tmp_path / "tx02wrdp.dat", [("g", 1, 1), ("h", 1, 1)]),
        dundee_text(tmp_path / "tx01wrdp.dat", first),
    ]
    words = text("a b c d", "e f g h")
    found = eye_tracking.dundee_first_pass(Source(files, words, {}, 0))
    assert rows_of(found) == [
        ("sa", "1", 0, 100.0), ("sa", "1", 1, 101.0 + 102.0), ("sa", "1", 2, 103.0),
        ("sb", "1", 0, 100.0), ("sb", "1", 3, 101.0), ("sb", "2", 0, 105.0),
        ("sb", "2", 1, 106.0), ("sb", "2", 3, 100.0),
    ]  # fmt: skip
    assert found["saccade"].tolist() == [1, 1, 1, 1, 3, 1, 1, 2]
    assert found["previous_fixated"].tolist() == [True] * 4 + [False, True, True, False]
    assert found["at_edge"].tolist() == [True, True, True, True, False, True, True, True]
    for left in (files[:3], files[3:]):
        with pytest.raises(LingprobError, match="list its txNN"):
            eye_tracking.dundee_first_pass(Source(left, words, {}, 0))
    short = saved(files[4], "a 1 1 1 1 1 0 1 1 0 0 0\n")
    with pytest.raises(LingprobError, match="a line with 12 fields, not 13"):
        eye_tracking.dundee_first_pass(Source([*files[:4], short], words, {}, 0))
    fault = saved(files[2], "WORD\nx 1 1 5 5 1 1 100 1\n\nx 1 1 5 5 1 one 100 1\n")
    with pytest.raises(LingprobError, match="row 4: no word number and duration in 'x 1"):
        eye_tracking.dundee_first_pass(
            Source([fault, *files[3:4], dundee_text(files[4], first)], words, {}, 0)
        )


def test_of_ten_words_of_geco_one_may_be_missing(tmp_path):
    letters = "abcdefghi"
    material = saved(
        tmp_path / "material.csv",
        "WORD_ID,SENTENCE_ID,WORD\n"
        + "".join(f"1-5-{n},1-1,{letter}{letter}\n" for n, letter in enumerate(letters, 1)),
    )
    novel = saved(tmp_path / "novel.txt", f"CHAPTER I. ONE\n\n{' '.join(2 * x for x in letters)}\n")
    header = "PP_NR,WORD_ID,WORD_GAZE_DURATION,WORD_SKIP\n"
    rows = [f"p,1-5-{n},{n}00,0\n" for n in range(1, 11)]
    data = saved(tmp_path / "data.csv", header + "".join(rows))
    words = text(" ".join(2 * x for x in letters))
    found = eye_tracking.geco_first_pass(Source([data, material, novel], words, {}, 0))
    assert rows_of(found) == [("p", "1", n - 1, 100.0 * n) for n in range(1, 10)]


def test_simulated_times_are_longer_for_long_and_rare_words():
    """Word by word: a reader's pace, a letter's cost, 40 ms if rare, 20 ms after a rare word."""
    words = text("The dog saw", "the cat dog sleeping")
    random, expected = np.random.default_rng(5), []
    for reader in range(1, 9):
        pace, letter = random.normal(250, 40), random.normal(10, 4)
        noise = random.lognormal(0, 0.2, 7)
        rare = [0, 0, 1, 0, 1, 0, 1]
        for row, word in enumerate(words.itertuples()):
            mean = pace + letter * len(word.word) + 40 * rare[row]
            mean += 20 * rare[row - 1] if row else 0
            expected.append((f"s{reader}", word.passage_id, word.word_index, mean * noise[row]))
    found = rows_of(self_paced.demo_reading_times(Source([], words, {}, 5)))
    assert [row[:3] for row in found] == [row[:3] for row in expected]
    assert [row[3] for row in found] == pytest.approx([row[3] for row in expected])


def test_limits_of_exclusion_and_seed_are_the_callers(tmp_path):
    words = text(*["One two three four five six seven eight."] * 8).assign(sentence_index=0)
    rows = [
        (f"s{subject}", row.passage_id, row.word_index, 200 + 10 * row.word_index)
        for subject in range(4)
        for row in words.itertuples()
    ]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["subject_id", "passage_id", "word_index", "rt_ms"]).to_csv(
        path, index=False
    )
    entry = {"parser": "reading_times_table", "method": "self_paced", "unit": "subject"}
    found = build_reading_times("mine", entry, words, [path], min_ms=220, max_ms=250)
    counts = found["excluded"].value_counts().to_dict()
    # Words 1 (210) and 6 (260) of each of 32 readings; words 0 and 7 are a sentence's ends.
    assert counts == {"sentence_boundary": 64, "too_short": 32, "too_long": 32}
    demo = entry | {"parser": "demo_reading_times"}
    one, same, other = (
        build_reading_times("demo", demo, words, [], seed=seed)["rt_ms"] for seed in (1, 1, 2)
    )
    assert one.equals(same)
    assert not one.equals(other)
    assert one.equals(self_paced.demo_reading_times(Source([], words, {}, 1))["rt_ms"])
    again = build_reading_times("demo", demo, words, [])["rt_ms"]
    assert again.equals(build_reading_times("demo", demo, words, [], seed=0)["rt_ms"])


@pytest.mark.parametrize(("unit", "known"), [("subject", True), ("word", False)])
def test_means_over_readers_have_no_previous_fixation(tmp_path, unit, known):
    words = text(*["One two three four five six."] * 8).assign(sentence_index=0)
    rows = [
        ("mean", row.passage_id, row.word_index, 0 if row.word_index == 2 else 200)
        for row in words.itertuples()
    ]
    path = tmp_path / "t.csv"
    pd.DataFrame(rows, columns=["subject_id", "passage_id", "word_index", "rt_ms"]).to_csv(
        path, index=False
    )
    entry = {"parser": "reading_times_table", "method": "eye_tracking", "unit": unit}
    found = build_reading_times("mine", entry, words, [path], max_saccade=1)
    assert found["previous_fixated"].notna().all() == known
    if known:
        assert found["previous_fixated"].tolist() == [True, True, True, False, True, True] * 8
    # A saccade over the word that was passed over is longer than one word.
    assert found["excluded"].isna().tolist()[1:5] == [True, False, False, True]


def test_the_first_sentence_of_the_maze_may_have_no_times(tmp_path):
    words = text("So. If you go.", "He is.")
    rows = "1\t3\ta\tBoar\t1\t2\n2\t2\ta\tAqua\t2\t1\n"
    path = saved(tmp_path / "m", MAZE + rows)
    found = self_paced.natural_stories_maze(Source([path], words, {}, 0))
    assert rows_of(found) == [("a", "1", 2, 1.0), ("a", "2", 0, 2.0)]


def test_texts_of_brown_have_no_number_below_0(tmp_path):
    header = "subject,text_id,text_pos,word,time\n"
    path = saved(tmp_path / "b.csv", header + "s,0,0,In,300\ns,-1,0,In,300\n")
    with pytest.raises(LingprobError, match="'text_id': -1 to 0, but there are 1 texts"):
        self_paced.brown_spr(Source([path], text("In it"), {}, 0))


def test_means_of_provo_are_those_of_words_that_the_text_has(tmp_path):
    """Its first word, too, if the file has it."""
    names = [f"w{n}" for n in range(30)]
    rows = "".join(f"{name},{n}\n" for n, name in enumerate([*names, "more"]))
    path = saved(tmp_path / "p.csv", "word,first_pass_dur\n" + rows)
    parse = load_parser("mine", "provo_first_pass_means")
    found = parse(Source([path], text(" ".join(names)), {}, 0))
    assert rows_of(found) == [("mean", "1", n, float(n)) for n in range(30)]


def test_dundee_counts_no_blink_and_no_second_look_back(tmp_path):
    """A blink may stand at a word's number; word 1 is looked at twice after word 3."""
    words = text("a b c d")
    reader = saved(
        tmp_path / "sa01ma1p.dat",
        "WORD\n"
        + "".join(
            f"{name} 1 1 5 5 1 {place} {ms} 1 1\n"
            for name, place, ms in (
                ("a", 1, 100), ("*Off-screen", 4, 7), ("c", 3, 110), ("a", 1, 1), ("a", 1, 2),
                ("c", 3, 4), ("c", 3, 8), ("*Blink", 3, 16), ("d", 4, 120), ("d", 4, 30),
            )
        ),
    )  # fmt: skip
    files = [reader, dundee_text(tmp_path / "tx01wrdp.dat", [(x, 1, 1) for x in "abcd"])]
    found = eye_tracking.dundee_first_pass(Source(files, words, {}, 0))
    assert rows_of(found) == [("sa", "1", 0, 100.0), ("sa", "1", 2, 110.0), ("sa", "1", 3, 150.0)]
    assert found["saccade"].tolist() == [1, 2, 1]
    assert set(found) == {
        "subject_id", "passage_id", "word_index", "rt_ms", "word", "previous_fixated", "saccade",
        "at_edge",
    }  # fmt: skip


def parsed(tmp_path: Path, parser: str, content: str | bytes, **entry: int) -> list[tuple]:
    path = tmp_path / "text"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    words = build_words("mine", {"parser": parser, **entry}, [path])
    return [
        (row.passage_id, row.word_index, row.word, row.sentence_index) for row in words.itertuples()
    ]


def test_natural_stories_keeps_quotes_and_the_order_of_its_stories(tmp_path):
    content = 'word\tzone\titem\n"If\t1\t2\nNA\t2\t2\nSo\t1\t1\n'
    assert parsed(tmp_path, "natural_stories", content) == [
        ("2", 0, '"If', 0), ("2", 1, "NA", 0), ("1", 0, "So", 0)
    ]  # fmt: skip


def test_brown_counts_sentences_from_0_in_each_passage(tmp_path):
    content = (
        "docid\tsentid\tsentpos\tword\tmean_rt\n"
        "d00\t0\t1\tIn\t\nd00\t1\t1\tA\t\nd01\t2\t1\tB\t\nd01\t2\t2\tC.\t300\n"
    )
    assert parsed(tmp_path, "brown_spr", content) == [
        ("d00", 0, "In", 0), ("d00", 1, "A", 1), ("d01", 0, "B", 0), ("d01", 1, "C.", 0)
    ]  # fmt: skip


def test_geco_without_its_novel_is_refused(tmp_path):
    with pytest.raises(LingprobError, match="lost their punctuation"):
        parsed(tmp_path, "geco", "WORD_ID,SENTENCE_ID,WORD\n1-5-1,1-1,The\n")


def test_provo_sorts_passage_numbers_as_the_published_tables_do(tmp_path):
    words = parsed(tmp_path, "provo", "".join(f"w{number}\n" for number in range(1, 12)))
    assert [word[2] for word in words[:4]] == ["w1", "w10", "w11", "w2"]


def test_frank2013_is_in_windows_1252(tmp_path):
    content = b"sent_nr\tsentence\tquestion\tanswer\n7\tIt\x92s here.\t-\t-\n"
    assert parsed(tmp_path, "frank2013", content) == [
        ("7", 0, "It\u2019s", 0), ("7", 1, "here.", 0)
    ]  # fmt: skip


def test_own_passages_are_lines_and_joining_words_gives_them_back(tmp_path):
    path = tmp_path / "own.txt"
    path.write_text("One  two\n\nthree\n")
    words = build_words("mine", {"parser": "passages"}, [path])
    assert passage_texts(words).to_dict() == {"1": "One two", "2": "three"}


@pytest.mark.parametrize(
    ("parser", "content", "entry", "said"),
    [
        ("natural_stories", "word\tzone\nIf\t1\n", {}, "no column 'item'"),
        ("passages", "", {}, "0 passages"),
        ("passages", "one\ntwo\n", {"passages": 3}, "2 passages, but 3"),
        ("passages", b"caf\xe9\n", {}, "not UTF-8"),
        ("provoo", "one\n", {}, "Did you mean 'provo'"),
    ],
)
def test_bad_input_is_one_message(tmp_path, parser, content, entry, said):
    with pytest.raises(LingprobError, match=said):
        parsed(tmp_path, parser, content, **entry)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(LingprobError, match=r"gone.txt: no such text"):
        build_words("mine", {"parser": "passages"}, [tmp_path / "gone.txt"])


def test_natural_stories_takes_its_sentences_from_the_second_file(tmp_path):
    (tmp_path / "text").write_text("word\tzone\titem\nMr.\t1\t1\nB\t2\t1\nso.\t3\t1\n")
    marks = tmp_path / "sentences.tsv"
    header = "story_num\tsentence_num\tsentence\tword_num_in_sentence\tword_num_in_story\n"
    marks.write_text(header + "1\t1\tMr.\t1\t1\n1\t1\tB\t2\t2\n1\t2\tso.\t1\t3\n")
    words = build_words("ns", {"parser": "natural_stories"}, [tmp_path / "text", marks])
    assert words["sentence_index"].tolist() == [0, 0, 1]
    marks.write_text(header + "1\t1\tMr.\t1\t1\n")
    with pytest.raises(LingprobError, match=r"no sentence for story 1, word 2 \('B'\)"):
        build_words("ns", {"parser": "natural_stories"}, [tmp_path / "text", marks])


def test_provo_takes_its_sentences_from_the_second_file(tmp_path):
    """Marks that lack a word, or have one at the end that stands elsewhere, are made good."""
    rest = " ".join(f"w{number}" for number in range(40))
    (tmp_path / "text").write_text(f"Mrs. Darling, so she went. It was {rest}.\nNo. Go.\n")
    marks = tmp_path / "provo_sents.csv"
    rows = [
        (1, 1, "mrs darling she went"), (1, 2, f"it was {rest}"), (1, 7, "so"), (2, 1, "no"),
        (2, 2, "go"),
    ]  # fmt: skip
    header = '"","Text_ID","Sentence_Number","text"\n'
    marks.write_text(header + "".join(f'"9",{a},{b},"{c}"\n' for a, b, c in rows))
    words = build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])
    assert words["sentence_index"].tolist() == [0] * 5 + [1] * 42 + [0, 1]
    marks.write_text(header + '"9",1,1,"other words"\n')
    with pytest.raises(LingprobError, match=r"provo_sents.csv, passage '1': .* part at word 0"):
        build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])
    marks.write_text(header + '"9",3,1,"other words"\n')
    with pytest.raises(LingprobError, match="no sentences of passage '1'"):
        build_words("provo", {"parser": "provo"}, [tmp_path / "text", marks])


def test_unmarked_sentences_end_at_a_stop_a_question_or_an_exclamation(tmp_path):
    words = parsed(tmp_path, "passages", 'He said "No!" Why? (Because.) 3.5 is.\nNew one\n')
    assert [word[3] for word in words] == [0, 0, 0, 1, 2, 3, 3, 0, 0]


@pytest.mark.parametrize("name", ["demo_passages", "demo_reading"])
def test_the_demo_s_texts_are_as_long_as_the_catalog_says(name):
    entry = Catalog().dataset(name)
    words = build_words(name, entry, [])
    assert (words["passage_id"].nunique(), len(words)) == (entry["passages"], entry["words"])


def test_the_demo_s_passages_have_fifteen_sentences_each():
    words = build_words("demo_passages", {"parser": "demo_passages"}, [])
    found = words.groupby(["passage_id", "sentence_index"], sort=False)["word"].agg(" ".join)
    sentences = pd.read_csv(MINIMAL_PAIRS)["good"].tolist()
    assert found.tolist() == sentences
    assert list(found.index) == [(f"{n // 15 + 1:02d}", n % 15) for n in range(len(sentences))]


def test_pieces_are_passages_or_sentences_with_their_names_and_places():
    rows = [("a", 0, "So", 0), ("a", 1, "it", 0), ("a", 2, "is.", 1), ("b", 0, "No.", 0)]
    words = pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])
    whole, by_sentence = (passages_of(words, context) for context in ("passage", "sentence"))
    assert [(piece.name, piece.text) for piece in whole] == [
        ("passage 'a'", "So it is."), ("passage 'b'", "No.")
    ]  # fmt: skip
    assert [(piece.name, piece.text) for piece in by_sentence] == [
        ("passage 'a', sentence 0", "So it"), ("passage 'a', sentence 1", "is."),
        ("passage 'b', sentence 0", "No."),
    ]  # fmt: skip
    pd.testing.assert_frame_equal(
        by_sentence[1].keys, pd.DataFrame({"passage_id": ["a"], "word_index": [2]})
    )
    with pytest.raises(LingprobError, match="texts whose sentences are marked"):
        passages_of(words.assign(sentence_index=None), "sentence")
    assert len(passages_of(words.assign(sentence_index=None), "passage")) == 2


def test_words_beyond_the_end_of_the_text_part_from_nothing():
    with pytest.raises(LingprobError, match=r"at word 5, where the text has nothing and .* 'w5'"):
        align_words(NAMES[:10], NAMES[:5], "mine")


def test_words_that_the_text_has_more_of_are_no_parting():
    """The first of the reading times' own words that are others is named, whatever is put in."""
    text = ["new", *NAMES]
    assert align_words(NAMES, text, "mine").tolist() == list(range(1, 61))
    with pytest.raises(LingprobError, match=r"at word 4, where the text has 'w3' and .* 'x'"):
        align_words([*NAMES[:3], *"xyvz", *NAMES[7:20]], text[:21], "mine")
    assert align_words([], text, "mine").tolist() == []


def test_marks_alone_are_told_apart():
    times = words_of("--")
    with pytest.raises(LingprobError, match=r"is '--' in the reading times and '\.\.\.'"):
        check_words(times, words_of("..."), "mine")
    check_words(times, words_of("--"), "mine")


def test_a_few_other_words_are_told_whoever_read_them(caplog):
    """The second reader's word 7 alone is another one."""
    words = words_of(" ".join(NAMES))
    first = words_of(" ".join(NAMES))
    second = words_of(" ".join([*NAMES[:7], "wrong", *NAMES[8:]]))
    check_words(first, words, "mine")
    assert not caplog.records
    check_words(pd.concat([first, second]), words, "mine")
    assert "1 of 61 words are others in the reading times than in the text" in caplog.text
    assert "first word 7 of passage '1': 'wrong' and 'w7'" in caplog.text


def test_the_first_row_that_is_left_out_is_told(caplog):
    words = words_of(" ".join(NAMES))
    times = pd.DataFrame(
        {"passage_id": "1", "number": range(62), "word": [*NAMES, "more", "again"], "rt_ms": 300.0}
    )
    with caplog.at_level("WARNING"):
        found = attach_words(times, words, "mine")
    assert found["word_index"].tolist() == list(range(60))
    assert "2 of 62 rows are left out" in caplog.text
    assert "(passage '1': 'more')" in caplog.text


def test_sentences_of_passages_whose_numbers_look_alike_are_apart():
    """Sentence 10 of passage 1 and sentence 0 of passage 11."""
    words = pd.DataFrame(
        {"passage_id": ["1"] * 3 + ["11"] * 3, "sentence_index": [10] * 3 + [0] * 3}
    )
    assert sentence_boundaries(words).tolist() == [True, False, True] * 2
    assert sentence_boundaries(words[:1]).tolist() == [True]


def test_the_first_reader_may_pass_over_the_first_words():
    times = pd.DataFrame(
        {"subject_id": [*"aaaabbb"], "passage_id": "1", "word_index": [0, 1, 2, 3, 0, 1, 3],
         "rt_ms": [0, 0, 300, 200, 0, 100, 100]}
    )  # fmt: skip
    fixated, distances = saccades(times)
    assert distances.tolist() == [1, 2, 3, 1, 1, 2, 2]
    assert fixated.tolist() == [True, False, False, True, True, False, False]


def regression_tables(surprisals: dict[str, Any]) -> tuple[Any, ...]:
    """Two passages of three words, each read by two readers."""
    words = words_of("A bb ccc", "Dd e f")
    times = pd.concat([words.assign(subject_id=name) for name in "st"], ignore_index=True)
    times = times.assign(
        rt_ms=np.arange(12.0), excluded=None, partition="fit", previous_fixated=None
    )
    keys = words[["passage_id", "word_index"]]
    tables = {name: keys.assign(surprisal=values) for name, values in surprisals.items()}
    return times, words, np.arange(6) * 0.5, tables


def test_a_regression_s_columns_and_rows():
    """No word has another passage's last for the one before, nor a first word any."""
    tables = regression_tables({"one": np.arange(6.0) ** 2})
    frame, (predictors,) = regression_frame(*tables)
    assert predictors.all == (
        "surprisal_0", "previous_surprisal_0", "unigram_surprisal", "length", "index"
    )  # fmt: skip
    assert list(frame) == ["subject_id", "sentence", "partition", "rt_ms", *predictors.all]
    assert frame["rt_ms"].tolist() == [1, 2, 4, 5, 7, 8, 10, 11]
    assert frame[list(predictors.all)].to_numpy()[:4].tolist() == [
        [1, 0, 0.5, 2, 2], [4, 1, 1.0, 3, 3], [16, 9, 2.0, 1, 2], [25, 16, 2.5, 1, 3]
    ]  # fmt: skip
    assert frame["sentence"].tolist() == [0, 0, 1, 1] * 2


def test_surprisals_of_more_previous_words_are_predictors_on_request():
    tables = regression_tables({"one": np.arange(6.0) ** 2})
    frame, (predictors,) = regression_frame(*tables, previous_words=2)
    assert predictors.previous == ("previous_surprisal_0", "previous_2_surprisal_0")
    assert frame[["surprisal_0", *predictors.previous]].to_numpy()[:2].tolist() == [
        [4, 1, 0], [25, 16, 9]
    ]  # fmt: skip
    named = predictors.named("rt_ms ~ surprisal_0 + previous_surprisal_0 + previous_2_surprisal_0")
    assert named == "rt_ms ~ surprisal + previous_surprisal + previous_2_surprisal"


def test_surprisals_in_another_order_are_refused():
    times, words, unigrams, tables = regression_tables({"one": np.arange(6.0)})
    turned = {"one": tables["one"][::-1]}
    with pytest.raises(LingprobError, match="'one': surprisals of 6 words for a text of 6"):
        regression_frame(times, words, unigrams, turned)


def test_a_predictor_that_differs_by_rounding_alone_is_constant():
    """The limit grows with the mean: 1e-3 at 1e9; at 0.1 it is 1e-12."""
    frame = pd.DataFrame(
        {"partition": "fit", "x": [1e9, 1e9 + 1e-4] * 5, "y": [0.1, 0.1 + 1e-9] * 5}
    )
    with pytest.raises(LingprobError, match="'x' is 1e\\+09 in every row"):
        standardised(frame, ["x"])
    assert standardised(frame, ["y"])["y"].abs().round(6).nunique() == 1


def test_perplexity_by_word_is_corrected_or_not_and_by_token_never():
    table = pd.DataFrame(
        {"surprisal": [np.nan, 2.0, 4.0, 6.0], "surprisal_uncorrected": [np.nan, 1.0, 6.0, 2.0],
         "n_tokens": [1, 1, 3, None]}
    )  # fmt: skip
    assert perplexity(table) == (2**4.0, 2 ** (7 / 4))
    assert perplexity(table, corrected=False) == (2**3.0, 2 ** (7 / 4))
