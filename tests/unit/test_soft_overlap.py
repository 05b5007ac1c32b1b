"""From words and documents to tables of soft overlaps, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table, write_table
from lingprob.overlap.soft import build_soft_index, find_soft_overlaps
from lingprob.overlap.soft_tables import longest_of_files, soft_overlaps, summarise_soft_overlaps

OPTIONS = {"min_words": 4, "gaps": 1, "scale": "demo"}
NO_OVERLAP = (0, 0, "")


def words_of(passages: dict[str, str]) -> pd.DataFrame:
    rows = [
        (name, place, word, 0)
        for name, text in passages.items()
        for place, word in enumerate(text.split())
    ]
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])


# "to-day" is two words, the dash none: places in the passage are those of its own words.
TEXTS = {
    "one": words_of({"a": "He -- came to-day and went.", "b": "Nothing of the kind, Sir"}),
    "two": words_of({"a": "...", "b": "dont worry be happy"}),
}


def results(table: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(table[["overlap_words", "gaps", "overlap_text"]].itertuples(index=False, name=None))


def test_places_are_the_words_of_the_passage_and_the_text_is_the_corpus_s(tmp_path):
    documents = [
        "Yes. \u201cShe CAME,\n to day, and (then) left.",
        "Don\u2019t  worry; be happy!\u201d",
    ]
    table = soft_overlaps(TEXTS, documents, "corpus", **OPTIONS)
    write_table(table, "soft_overlap", tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", "soft_overlap")
    assert list(table) == SCHEMAS["soft_overlap"].names
    assert list(table["corpus"] + table["passage_id"]) == ["onea", "oneb", "twoa", "twob"]
    assert set(table["searched"]) == {"corpus"}
    assert table["passage_words"].tolist() == [6, 5, 0, 4]
    assert results(table) == [
        (4, 0, "CAME, to day, and"), NO_OVERLAP, NO_OVERLAP, (4, 0, "Don\u2019t worry; be happy")
    ]  # fmt: skip
    assert table["first_word"].astype("Int64").tolist() == [2, pd.NA, pd.NA, 0]
    assert table["last_word"].astype("Int64").tolist() == [4, pd.NA, pd.NA, 3]


def test_files_of_a_corpus_and_corpora_are_put_together():
    """More words win, then fewer gaps, then the first file; passages keep their order."""
    files = [
        ["came to day once", "dont worry and be happy"],
        ["dont worry be happy. He came to day then went"],
        ["DONT WORRY BE HAPPY"],
    ]
    tables = [soft_overlaps(TEXTS, documents, "all", **OPTIONS) for documents in files]
    assert results(tables[0])[3] == (4, 1, "dont worry and be happy")
    longest = longest_of_files([*tables, tables[0].assign(searched="other")])
    assert results(longest) == [
        (5, 1, "He came to day then went"), NO_OVERLAP, NO_OVERLAP, (4, 0, "dont worry be happy"),
        NO_OVERLAP, NO_OVERLAP, NO_OVERLAP, (4, 1, "dont worry and be happy"),
    ]  # fmt: skip
    summary = summarise_soft_overlaps(longest).set_index(["searched", "corpus"])
    columns = ["passages", "words", "overlapping", "whole", "median_overlap", "longest_overlap"]
    assert summary.loc[("all", "one"), columns].tolist() == [2, 11, 1, 0, 2.5, 5]
    assert summary.loc[("other", "two"), columns].tolist() == [2, 4, 1, 1, 2, 4]


def found_in(passage: str, *documents: str, min_words: int, gaps: int) -> list[tuple[object, ...]]:
    index = build_soft_index([passage.split()], min_words, gaps)
    table = find_soft_overlaps(index, documents)
    assert list(table) == ["passage", "overlap_words", "gaps", "first", "last", "overlap_text"]
    return list(table.itertuples(index=False, name=None))


def test_of_overlaps_as_good_the_first_in_the_corpus_is_taken():
    first = [(0, 2, 0, 0, 1, "A b")]
    assert found_in("a b", "x A b x", "a B", min_words=2, gaps=0) == first
    assert found_in("a b", "A b, a B", min_words=2, gaps=0) == first
    assert found_in("a b c", "A b", "a B c", min_words=2, gaps=0) == [(0, 3, 0, 0, 2, "a B c")]
    assert found_in("a x b", "a B", "A x b", min_words=2, gaps=1) == [(0, 3, 0, 0, 2, "A x b")]


def test_of_gaps_as_good_the_one_that_leaves_a_word_of_the_passage_out_is_taken():
    """Without p, b follows a in both; without the corpus's b, p does."""
    assert found_in("a p b q", "a B p", min_words=2, gaps=1) == [(0, 2, 1, 0, 2, "a B")]


def test_an_index_has_numbers_of_words_and_their_places():
    index = build_soft_index([["x", "y", "x"], [], ["z", "y"]], 2, 0)
    assert index.codes.tolist() == [1, 2, 1, 3, 2]
    assert index.offsets.tolist() == [0, 3, 3, 5]
    assert index.passage_of.tolist() == [0, 0, 0, 2, 2]
    assert sorted(index.places) == [0, 1, 3]
    assert (np.diff(index.hashes.astype(object)) > 0).all()


@pytest.mark.parametrize(
    ("words", "length"), [(5, 128), (31, 128), (32, 256), (63, 256), (64, 512)]
)
def test_a_filter_has_32_bits_a_place_and_one_of_them_set(words, length):
    index = build_soft_index([[f"w{n}" for n in range(words)]], 1, 0)
    assert len(set(index.hashes.tolist())) == words
    assert len(index.bitmap) == length
    assert 0.9 * words <= np.unpackbits(index.bitmap).sum() <= words


def test_a_passage_of_one_word_is_whole_and_one_without_words_is_not():
    """One row of a text, then two."""
    texts = {"one": words_of({"a": "Go!"}), "two": words_of({"a": "...", "b": "stop it"})}
    table = soft_overlaps(texts, ["go on, stop"], "all", min_words=1, gaps=0, scale="demo")
    assert table["overlap_words"].tolist() == [1, 0, 1]
    columns = ["passages", "words", "overlapping", "whole", "median_overlap", "longest_overlap",
               "scale"]  # fmt: skip
    assert summarise_soft_overlaps(table)[columns].to_numpy().tolist() == [
        [1, 1, 1, 1, 1.0, 1, "demo"], [2, 2, 1, 0, 0.5, 1, "demo"]
    ]  # fmt: skip
