"""Words without punctuation in the form that their book prints them in: GECO and its novel."""

from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.reading.printed import (
    cut_out,
    ids_between,
    opcodes_in_windows,
    printed_geco,
    with_ids,
    words_that_differ,
)

NOVEL = """*** START OF THIS PROJECT GUTENBERG EBOOK ***
CHAPTER I. ARRIVAL
CHAPTER II. DEPARTURE

CHAPTER I. ARRIVAL

“Poirot,” said Mr. Inglethorp, “the _protégée_ practised—always.”
01
Everyone slept on. Howard was here: I saw him.

CHAPTER II. DEPARTURE

He left; nobody wept.

*** END OF THIS PROJECT GUTENBERG EBOOK ***
CHAPTER III. THE LICENCE
"""
# Without the names and the dash, other spellings; the second trial begins with Howard.
MATERIAL = [
    ("1-5-2", "1-1", "said"), ("1-5-3", "1-1", "Mr"), ("1-5-5", "1-1", "the"),
    ("1-5-6", "1-1", "protegee"), ("1-5-8", "1-2", "Every"), ("1-5-9", "1-2", "one"),
    ("1-5-10", "1-2", "slept"), ("1-5-11", "1-2", "on"), ("1-6-2", "1-3", "was"),
    ("1-6-3", "1-3", "here"), ("1-6-4", "1-3", "I"), ("1-6-5", "1-3", "saw"),
    ("1-6-6", "1-3", "him"), ("2-1-1", "2-1", "She"), ("2-1-2", "2-1", "left"),
    ("2-1-3", "2-1", "nobody"), ("2-1-4", "2-1", "wept"),
]  # fmt: skip
EXPECTED = [
    ("1", 0, "Poirot,", 0, "1-5-1"), ("1", 1, "said", 0, "1-5-2"), ("1", 2, "Mr.", 0, "1-5-3"),
    ("1", 3, "Inglethorp,", 0, "1-5-4"), ("1", 4, "the", 0, "1-5-5"),
    ("1", 5, "protégée", 0, "1-5-6"), ("1", 6, "practised--always.", 0, "1-5-7"),
    ("1", 7, "Every", 1, "1-5-8"), ("1", 8, "one", 1, "1-5-9"), ("1", 9, "slept", 1, "1-5-10"),
    ("1", 10, "on.", 1, "1-5-11"), ("1", 11, "Howard", 2, "1-6-1"), ("1", 12, "was", 2, "1-6-2"),
    ("1", 13, "here:", 2, "1-6-3"), ("1", 14, "I", 2, "1-6-4"), ("1", 15, "saw", 2, "1-6-5"),
    ("1", 16, "him.", 2, "1-6-6"), ("2", 0, "She", 0, "2-1-1"), ("2", 1, "left;", 0, "2-1-2"),
    ("2", 2, "nobody", 0, "2-1-3"), ("2", 3, "wept.", 0, "2-1-4"),
]  # fmt: skip


@pytest.fixture
def files(tmp_path, monkeypatch):
    """The material and the novel; so short a text may differ in more than a twentieth."""
    monkeypatch.setattr("lingprob.reading.printed.SMALLEST_SHARE", 0.8)
    material, novel = tmp_path / "material.csv", tmp_path / "novel.txt"
    lines = [",".join(row) for row in MATERIAL]
    material.write_text("\n".join(["WORD_ID,SENTENCE_ID,WORD", *lines, "2-1-5,2-1, "]))
    novel.write_text(NOVEL, encoding="utf-8")
    return material, novel


def test_words_get_their_punctuation_and_those_left_out_come_back(files):
    """Two words that are one in print stay two; a word in another wording is the reader's."""
    words = printed_geco(*files)
    columns = ["passage_id", "word_index", "word", "sentence_index", "word_id"]
    assert list(words[columns].itertuples(index=False, name=None)) == EXPECTED
    kept = words["material_word"].dropna()
    assert kept.tolist() == [word for *_, word in MATERIAL]


def test_the_words_that_differ_are_listed(files):
    listed = words_that_differ(printed_geco(*files))
    assert listed[["word", "novel_word", "difference"]].to_numpy().tolist() == [
        ["Poirot,", "Poirot,", "left out"],
        ["Inglethorp,", "Inglethorp,", "left out"],
        ["practised--always.", "practised--always. Everyone", "left out"],
        ["Every", "practised--always. Everyone", "other letters"],
        ["one", "practised--always. Everyone", "other letters"],
        ["Howard", "Howard", "left out"],
        ["She", "He", "other letters"],
    ]


def test_another_text_or_one_without_chapters_is_refused(files):
    material, novel = files
    novel.write_text("CHAPTER I\n\n" + " ".join(f"other{n}" for n in range(30)))
    with pytest.raises(LingprobError, match="only 0% of the words agree"):
        printed_geco(material, novel)
    novel.write_text("Poirot said nothing.")
    with pytest.raises(LingprobError, match="no line CHAPTER I"):
        printed_geco(material, novel)


@pytest.mark.parametrize(
    ("before", "after", "count", "expected"),
    [
        (("1-5", 40), ("1-5", 42), 1, ["1-5-41"]),
        (("1-5", 40), ("1-5", 41), 2, []),
        (("1-5", 40), ("1-5", 42), 2, [None, None]),
        (("1-5", 8), ("1-6", 1), 2, ["1-5-9", "1-5-10"]),
        (("1-5", 8), ("1-6", 4), 2, ["1-6-2", "1-6-3"]),
        (None, ("1-5", 2), 2, [None, "1-5-1"]),
        (("4-9", 3), None, 1, ["4-9-4"]),
    ],
)
def test_words_left_out_have_the_ids_that_are_free(before, after, count, expected):
    assert ids_between(before, after, count) == expected


def test_several_words_left_out_in_a_row_have_an_id_each():
    rows = pd.DataFrame({"place": [0, None, None, 1, None]})
    found = with_ids(rows, pd.Series(["1-5-8", "1-6-1"]))
    assert found["word_id"].tolist() == ["1-5-8", "1-5-9", "1-5-10", "1-6-1", "1-6-2"]


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        (["V", "A", "D"], "the V.A.D. hospital", (["the"], ["V.", "A.", "D."], ["hospital"])),
        (["bon", "jour"], "'Bonjour, mon", ([], ["'Bon", "jour,"], ["mon"])),
        (["had"], "Philips--had", (["Philips--"], ["had"], [])),
        (["cant"], "I cannot", None),
    ],
)
def test_words_are_cut_out_of_the_print_by_their_letters(words, text, expected):
    assert cut_out(words, text) == expected


def test_windows_align_as_one_pass_over_the_whole_does():
    """A thousand words of which one in twenty is left out, one in fifty replaced."""
    random = np.random.default_rng(1)
    theirs = [f"w{n}" for n in random.zipf(1.4, 1000)]
    ours = [
        "other" if draw < 0.02 else word
        for word, draw in zip(theirs, random.random(1000), strict=True)
        if draw < 0.95
    ]
    windows = list(opcodes_in_windows(ours, theirs, window=150, anchor=8))
    for side in (1, 3):  # every word is in one stretch, in order
        covered = [n for opcode in windows for n in range(opcode[side], opcode[side + 1])]
        assert covered == list(range(len(ours if side == 1 else theirs)))
    assert all(ours[a:b] == theirs[c:d] for tag, a, b, c, d in windows if tag == "equal")
    whole = SequenceMatcher(None, ours, theirs, autojunk=False).get_opcodes()
    same, expected = (
        sum(opcode[2] - opcode[1] for opcode in found if opcode[0] == "equal")
        for found in (windows, whole)
    )
    assert same >= expected - 3


@pytest.mark.parametrize(("ours", "theirs"), [(40, 0), (0, 40), (400, 350)])
def test_what_one_text_has_beyond_the_other_s_end_is_aligned_with_nothing(ours, theirs):
    words = [f"w{n}" for n in range(400)]
    found = list(opcodes_in_windows(words[:ours], words[:theirs], window=150, anchor=8))
    assert sum(end - first for _, first, end, _, _ in found) == ours
    assert sum(stop - start for _, _, _, start, stop in found) == theirs
    tag = "delete" if ours > theirs else "insert"
    assert found[-1] == (tag, min(ours, theirs), ours, min(ours, theirs), theirs)


class Asked(list):
    """A list that remembers how much of it was asked for at once."""

    def __init__(self, words: list[str]) -> None:
        super().__init__(words)
        self.sizes: list[int] = []

    def __getitem__(self, place):
        if isinstance(place, slice):
            self.sizes.append(len(range(*place.indices(len(self)))))
        return super().__getitem__(place)


def test_a_window_without_agreement_is_doubled_and_the_next_has_its_size_again():
    """Twelve other words, then the same ones: eight of these in a row are in the third window."""
    same = [f"w{n}" for n in range(30)]
    ours = Asked([*(f"x{n}" for n in range(12)), *same])
    theirs = [*(f"y{n}" for n in range(12)), *same]
    found = list(opcodes_in_windows(ours, theirs, window=6, anchor=8))
    assert found[0] == ("replace", 0, 12, 0, 12)
    assert ours.sizes == [6, 12, 24, 6, 12, 6]
    assert all(tag == "equal" for tag, *_ in found[1:])
    assert (found[-1][2], found[-1][4]) == (42, 42)


def sizes_asked(ours: list[str], theirs: list[str], **options: int) -> tuple[list, ...]:
    """Align two lists in windows; return the opcodes and how much of each was asked for at once."""
    lists = Asked(ours), Asked(theirs)
    return (list(opcodes_in_windows(*lists, **options)), *(one.sizes for one in lists))


def test_windows_are_of_a_size_and_a_quarter_more_of_the_other_text():
    """The last one, which begins where one ends with all of it, has what is left."""
    words = [f"w{n}" for n in range(700)]
    found, ours, theirs = sizes_asked(words[:450], words[:400], window=150, anchor=8)
    assert (ours, theirs) == ([150] * 3, [187, 187, 100])
    assert found[-2:] == [("equal", 300, 400, 300, 400), ("delete", 400, 450, 400, 400)]
    found, ours, theirs = sizes_asked(words[:400], words, window=150, anchor=8)
    assert (ours, theirs) == ([150, 150, 100], [187, 187, 400])
    assert found[-1] == ("insert", 400, 400, 400, 700)


def test_windows_have_a_thousand_words_and_eight_in_a_row_are_enough():
    """Every ninth word is another: the last whole run of a thousand words ends at 998."""
    theirs = [f"w{n}" for n in range(1500)]
    ours = [f"x{n}" if n % 9 == 8 else word for n, word in enumerate(theirs)]
    found, sizes, _ = sizes_asked(ours, theirs)
    assert sizes == [1000, 502]
    assert [op for op in found if op[0] != "equal"] == [
        ("replace", n, n + 1, n, n + 1) for n in range(8, 1500, 9)
    ]


def test_a_frequent_word_is_aligned_between_others():
    theirs = [f"w{n}" if n % 10 else "the" for n in range(300)]
    ours = [f"x{n}" if n in (148, 149, 151, 152) else word for n, word in enumerate(theirs)]
    bounds = [(0, 148), (148, 150), (150, 151), (151, 153), (153, 300)]
    tags = ["equal", "replace"] * 2 + ["equal"]
    assert list(opcodes_in_windows(ours, theirs)) == [
        (tag, *bound, *bound) for tag, bound in zip(tags, bounds, strict=True)
    ]


def saved_texts(tmp_path, material: str, novel: str):
    """Files of a material, in one trial, and of a novel."""
    paths = tmp_path / "material.csv", tmp_path / "novel.txt"
    rows = [f"1-1-{n},1-1,{word}" for n, word in enumerate(material.split(), start=1)]
    paths[0].write_text("\n".join(["WORD_ID,SENTENCE_ID,WORD", *rows]))
    paths[1].write_text(novel)
    return paths


@pytest.mark.parametrize("others", [1, 2])
def test_one_word_in_twenty_may_be_another_in_the_novel(tmp_path, others):
    words = [f"w{n}" for n in range(20)]
    novel = "CHAPTER I\n\n" + " ".join([*["(colour!)", "(honour!)"][:others], *words[others:]])
    material = " ".join([*["color", "honor"][:others], *words[others:]])
    paths = saved_texts(tmp_path, material, novel)
    if others == 1:
        assert printed_geco(*paths)["word"].tolist() == ["(color!)", *words[1:]]
    else:
        with pytest.raises(LingprobError, match="only 90% of the words agree"):
            printed_geco(*paths)


def test_words_that_the_print_lacks_are_in_the_chapter_of_the_word_before(tmp_path, monkeypatch):
    monkeypatch.setattr("lingprob.reading.printed.SMALLEST_SHARE", 0.5)
    novel = "CHAPTER I\n\nOne.\n\nCHAPTER II\n\nTwo three four five six."
    words = printed_geco(*saved_texts(tmp_path, "one gone two lost three four five six end", novel))
    assert words["word"].tolist() == [
        "One.", "gone", "Two", "lost", "three", "four", "five", "six.", "end"
    ]  # fmt: skip
    assert words["passage_id"].tolist() == ["1"] * 2 + ["2"] * 7
    assert words["word_index"].tolist() == [0, 1, *range(7)]
    assert words["novel_word"].tolist()[1:4:2] == ["", ""]


@pytest.mark.parametrize(
    ("words", "text", "expected"),
    [
        (["had"], "had -- gone", ([], ["had"], ["--", "gone"])),
        (["-", "a"], "a b", None),  # a word without letters
        (["b"], "\ufb01 b", None),  # a ligature of two letters
        (["one", "two"], "(One two", ([], ["(One", "two"], [])),
    ],
)
def test_what_has_no_letters_of_its_own_is_not_cut_out(words, text, expected):
    assert cut_out(words, text) == expected


@pytest.mark.parametrize(
    ("places", "ids", "expected"),
    [
        # Between 8 and 9 no word was on the screen, and between 9 and 11 one was.
        ([0, 1, None, None, 2, None, 3], [7, 8, 9, 11], {0: 7, 1: 8, 4: 9, 5: 10, 6: 11}),
        ([None, None, 0], [2], {0: None, 1: 1, 2: 2}),
        ([0, None, None, 1], [3, 5], {0: 3, 1: None, 2: None, 3: 5}),
    ],
)
def test_words_left_out_have_the_ids_that_their_neighbours_leave(places, ids, expected):
    rows = pd.DataFrame({"place": places, "word": range(len(places))})
    found = with_ids(rows, pd.Series([f"1-5-{number}" for number in ids]))
    assert list(found) == ["place", "word", "word_id"]
    assert found["word"].tolist() == list(expected)
    found_ids = [None if pd.isna(word_id) else word_id for word_id in found["word_id"]]
    assert found_ids == [n if n is None else f"1-5-{n}" for n in expected.values()]


def test_of_words_left_out_in_a_row_those_up_to_a_stop_end_the_sentence(tmp_path):
    """'Foo Bar.' ends one, and 'Then he' begins the next; 'not' is of another edition."""
    novel = "CHAPTER I\n\nSo said Foo Bar. Then he went not far."
    paths = saved_texts(tmp_path, "", novel)
    rows = [(1, 1, "So"), (2, 1, "said"), (7, 2, "went"), (10, 2, "far")]
    lines = [f"1-1-{place},1-{sentence},{word}" for place, sentence, word in rows]
    paths[0].write_text("\n".join(["WORD_ID,SENTENCE_ID,WORD", *lines]))
    words = printed_geco(*paths)
    assert words["sentence_index"].tolist() == [0, 0, 0, 0, 1, 1, 1, 1, 1]
    listed = words_that_differ(words)
    assert listed[["word", "difference"]].to_numpy().tolist() == [
        ["Foo", "left out"], ["Bar.", "left out"], ["Then", "left out"], ["he", "left out"],
        ["not", "other edition"],
    ]  # fmt: skip
