"""Soft overlaps against a table of all alignments; what folding takes away and what it leaves."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.errors import LingprobError
from lingprob.overlap.soft import (
    build_soft_index,
    find_soft_overlaps,
    folded_words,
    quotation,
    seed_words,
)
from overlap_reference import slow_soft_overlap, words_in_common

texts = st.lists(st.lists(st.sampled_from("abc"), max_size=20), min_size=1, max_size=3)
numbers = {"min_words": st.integers(1, 9), "gaps": st.integers(0, 3)}


def check_soft_overlaps(
    passages: list[list[str]], documents: list[list[str]], min_words: int, gaps: int
) -> None:
    """Compare words and gaps with the table's, and align what is said to be the overlap."""
    index = build_soft_index(passages, min_words, gaps)
    found = find_soft_overlaps(index, [" ".join(document) for document in documents])
    of_passage = found.set_index("passage")
    for number, passage in enumerate(passages):
        expected = slow_soft_overlap(passage, documents, min_words, gaps)
        if number not in of_passage.index:
            assert expected == (0, 0)
            continue
        row = of_passage.loc[number]
        assert (row.overlap_words, row.gaps) == expected
        of_corpus = row.overlap_text.split()
        assert any(row.overlap_text in " ".join(document) for document in documents)
        stretch = passage[row["first"] : row["last"] + 1]
        assert words_in_common(stretch, of_corpus, row.gaps) == row.overlap_words
        assert (stretch[0], stretch[-1]) == (of_corpus[0], of_corpus[-1])


@settings(deadline=None, max_examples=200)
@given(passages=texts, documents=texts, **numbers)
def test_soft_overlaps_are_those_of_all_alignments(passages, documents, min_words, gaps):
    check_soft_overlaps(passages, documents, min_words, gaps)


@settings(deadline=None, max_examples=200)
@given(
    passage=st.lists(st.sampled_from("abcdefgh"), min_size=5, max_size=25),
    edits=st.lists(st.tuples(st.integers(0, 24), st.sampled_from(["", "x", "a", "a b"])),
                   max_size=4),
    **numbers,
)  # fmt: skip
def test_soft_overlaps_of_edited_copies(passage, edits, min_words, gaps):
    """A document is the passage with words left out, replaced and put in."""
    edited = list(passage)
    for place, word in edits:
        edited[place % len(edited)] = word
    check_soft_overlaps([passage, passage[3:]], [" ".join(edited).split()], min_words, gaps)


def random_soft_case(generator: random.Random) -> tuple[list[list[str]], list[list[str]], int, int]:
    """Draw passages, documents that may have stretches of them, edited, and both numbers."""
    letters = "abcdef"[: generator.choice([1, 2, 3, 6])]

    def text(lengths: list[int]) -> list[str]:
        return [generator.choice(letters) for _ in range(generator.choice(lengths))]

    passages = [text([0, 1, 4, 9, 14]) for _ in range(generator.randint(1, 3))]
    documents = [text([0, 1, 5, 12]) for _ in range(generator.randint(1, 2))]
    copied = generator.choice(passages)[generator.randrange(4) :]
    for _ in range(generator.randrange(4) if copied else 0):
        copied[generator.randrange(len(copied))] = generator.choice(["", "x", *letters])
    documents.append([*documents[0][:3], *filter(None, copied), *documents[-1][-3:]])
    return passages, documents, generator.randint(1, 8), generator.randrange(4)


@pytest.mark.slow
def test_ten_thousand_random_soft_cases():
    generator = random.Random(20261122)
    for _ in range(10_000):
        check_soft_overlaps(*random_soft_case(generator))


def test_longer_texts_in_several_batches():
    """Two thousand words, of which half stand in the corpus, with a gap after every hundredth."""
    generator = random.Random(3)
    passage = [f"w{generator.randrange(400)}" for _ in range(2000)]
    copy = list(passage[500:1500])
    for place in range(100, 1000, 100):
        copy[place] = "else"
    filler = " ".join(f"v{generator.randrange(10**6)}" for _ in range(200_000))
    index = build_soft_index([passage, ["other"]], 12, 2)
    found = find_soft_overlaps(index, [filler, f"{filler} {' '.join(copy)}.", filler])
    assert found["passage"].tolist() == [0]
    row = found.iloc[0]
    # From one gap to the third after it there are 3 * 99 words, and the last stretch has 99 + 100.
    assert (row.overlap_words, row.gaps, row["first"], row["last"]) == (298, 2, 500, 799)
    assert row.overlap_text == " ".join(copy[:300])


def test_case_punctuation_and_white_space_are_folded():
    assert folded_words('"Don\'t -- STOP!"\n\n_said_ he\u2026 Stra\u00dfe 1,000\ufb01') == [
        "dont", "stop", "said", "he", "strasse", "1", "000fi"
    ]  # fmt: skip
    assert folded_words("don\u2019t dogs' 'tis to-day cafe\u0301 \uff21\u00bd") == [
        "dont", "dogs", "tis", "to", "day", "caf\u00e9", "a1", "2"
    ]  # fmt: skip
    assert folded_words(" ... ") == []


@settings(deadline=None)
@given(st.text())
def test_a_quotation_has_the_words_that_it_is_of(text):
    words = folded_words(text)
    for first in range(min(len(words), 4)):
        for last in range(first, min(len(words), first + 3)):
            assert folded_words(quotation(text, first, last)) == words[first : last + 1]


def test_the_longest_run_of_a_match():
    assert [seed_words(12, gaps) for gaps in range(4)] == [12, 6, 4, 3]
    assert seed_words(13, 2) == 5
    assert seed_words(1, 3) == 1


def test_impossible_numbers_and_no_passages_are_refused():
    for min_words, gaps in ((0, 0), (5, 4), (5, -1)):
        with pytest.raises(LingprobError, match=r"overlap\.soft_min_words is"):
            build_soft_index([["a"]], min_words, gaps)
    with pytest.raises(LingprobError, match="no passages"):
        build_soft_index([], 5, 1)
