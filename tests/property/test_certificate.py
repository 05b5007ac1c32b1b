"""Certificates against the obvious way: every stretch of every document is looked at."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap.cdawg import build_cdawg
from lingprob.overlap.corpora import (
    Corpus,
    CorpusFile,
    SavedFile,
    load_corpus,
    save_corpus,
    split_documents,
)
from lingprob.overlap.search import first_places, longest_overlaps
from lingprob.overlap.token_blocks import normalise
from models_for_tests import VOCABULARY_SIZE, save_tiny_tokenizer
from overlap_reference import Sequences, block, slow_matches

SEPARATOR = 7
AROUND = 24  # tokens before and after a place
documents_of_ids = st.lists(st.lists(st.integers(0, 2), max_size=60), min_size=1, max_size=5)
# Words whose tokens others begin or end with; some are more bytes than characters.
WORDS = ["The", "Then", "cat", "cats", "é", "naïve", "東京", "🙂", "&", "mat.", "<b>"]
texts_of_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory) -> Tokenizer:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tiny_tokenizer(folder)
    return Tokenizer(AutoTokenizer.from_pretrained(folder), VOCABULARY_SIZE, "tiny")


def occurrences(documents: Sequences, sequence: list[int]) -> Iterator[tuple[int, int]]:
    """Where documents have a sequence, in their order: document from 1, first token from 0."""
    for number, document in enumerate(documents, start=1):
        for first in range(len(document) - len(sequence) + 1):
            if document[first : first + len(sequence)] == sequence:
                yield number, first


@settings(deadline=None, max_examples=100)
@given(documents=documents_of_ids, data=st.data())
def test_the_first_place_of_a_sequence_is_found_with_what_stands_around_it(
    documents: Sequences, data: st.DataObject
) -> None:
    filled = [document for document in documents if document]
    sequences = [
        document[(start := data.draw(st.integers(0, len(document) - 1))) :
                 data.draw(st.integers(start + 1, len(document)))]
        for document in filled
    ]  # fmt: skip
    cut = data.draw(st.integers(0, len(documents)))
    blocks = [block(documents[:cut], "uint32"), block(documents[cut:], "uint16")]
    places = first_places(
        [np.array(sequence) for sequence in sequences], blocks, file="f", vocabulary_size=9
    ) if sequences else []  # fmt: skip
    for sequence, place in zip(sequences, places, strict=True):
        number, first = next(occurrences(documents, sequence))
        document, last = documents[number - 1], first + len(sequence)
        assert (place.document, place.first_token) == (number, first)
        assert place.before.tolist() == document[max(0, first - AROUND) : first]
        assert place.after.tolist() == document[last : last + AROUND]


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.lists(st.sampled_from([0, 1, SEPARATOR]), max_size=9), max_size=4))
def test_separators_part_documents(rows: Sequences) -> None:
    expected: Sequences = []
    for row in rows:
        expected.append([])
        for token in row:
            if token == SEPARATOR:
                expected.append([])
            else:
                expected[-1].append(token)
    found = split_documents(block(rows), SEPARATOR)
    parts = np.split(found.tokens, found.offsets[1:-1]) if expected else []
    assert [part.tolist() for part in parts] == expected
    assert split_documents(found, None) is found


def test_a_sequence_across_documents_is_none_and_a_file_that_lacks_one_is_named() -> None:
    documents = [[1, 2], [3, 4], [0, 2, 3, 1]]
    (place,) = first_places([np.array([2, 3])], [block(documents)], file="f", vocabulary_size=9)
    assert (place.document, place.first_token) == (3, 1)
    with pytest.raises(LingprobError, match="f: lacks what was found in it"):
        first_places([np.array([4, 0])], [block(documents)], file="f", vocabulary_size=9)


@pytest.mark.parametrize("vocabulary_size", [2**16 - 1, 2**16])
def test_a_saved_file_has_its_documents_in_any_vocabulary(vocabulary_size: int) -> None:
    documents = [[1, 2], [], [3]]
    graph = build_cdawg([block(documents)], tokenizer_hash="t", vocabulary_size=vocabulary_size)
    tokenizer = Tokenizer(None, vocabulary_size, "t")
    (found,) = SavedFile("f", graph).blocks(tokenizer)
    assert found.tokens.tolist() == [1, 2, 3]
    assert found.offsets.tolist()[:4] == [0, 2, 2, 3]


def test_two_bytes_of_neighbours_are_no_token() -> None:
    """258, 513, 258 are the bytes 2 1 1 2 2 1: 257 lies across two tokens before it is one."""
    documents = [[258, 513, 258, 257]]
    (place,) = first_places([np.array([257])], [block(documents)], file="f", vocabulary_size=999)
    assert place.first_token == 3


@settings(deadline=None, max_examples=40)
@given(
    texts=st.lists(texts_of_words, min_size=1, max_size=4),
    files=st.lists(st.lists(texts_of_words, min_size=1, max_size=3), min_size=1, max_size=2),
    min_length=st.sampled_from([1, 3, 5]),
)
def test_a_certificate_says_what_every_stretch_of_every_document_says(
    tokenizer: Tokenizer, texts: list[str], files: list[list[str]], min_length: int
) -> None:
    # A word of its own keeps two files from being copies of one another.
    files = [[*documents, f"x{number}"] for number, documents in enumerate(files)]
    ids = [[tokenizer.tokenizer.encode(text) for text in documents] for documents in files]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.jsonl") for number in range(len(files))]
        for path, documents in zip(paths, files, strict=True):
            lines = (json.dumps({"text": text.replace(" ", " \n ")}) for text in documents)
            path.write_text("\n".join(lines))
        corpus = Corpus("c", [CorpusFile(path.name, {"parser": "lines"}, [path]) for path in paths])
        series = pd.Series(texts, [f"t{number}" for number in range(len(texts))])
        spaced = series.str.replace(" ", "\t ")
        table = longest_overlaps(spaced, [corpus], tokenizer, min_length)
        save_corpus(corpus, tokenizer, "tiny", Path(folder, "saved"))
        saved = load_corpus(Path(folder, "saved"))
        again = longest_overlaps(spaced, [saved], tokenizer, min_length)
    pd.testing.assert_frame_equal(again, table)
    n_words = sum(len(text.split()) for documents in files for text in documents)
    assert (table["corpus_words"] == n_words).all()
    assert table["text_id"].tolist() == series.index.tolist()
    for row, text in zip(table.itertuples(), texts, strict=True):
        variants = [tokenizer.tokenizer.encode(blank + text) for blank in ("", " ")]
        everything = [document for documents in ids for document in documents]
        matches = [slow_matches([variant], everything) for variant in variants]
        longest = [int(lengths.max()) for lengths, _ in matches]
        longest = [length if length >= min_length else 0 for length in longest]
        shares = [n / len(variant) for n, variant in zip(longest, variants, strict=True)]
        assert row.overlap_tokens / row.n_tokens == max(shares)
        if not max(shares):
            assert (row.occurrences, row.last_token, row.file) == (0, -1, "")
            assert (row.document, row.first_token, row.overlap_text) == (0, -1, "")
            continue
        # The overlap is one of a variant that has the largest share, and the most frequent one.
        best = [which for which in (0, 1) if shares[which] == max(shares)]
        assert row.occurrences == max(
            matches[which][1][matches[which][0] == longest[which]].max() for which in best
        )
        number = next(n for n, path in enumerate(paths) if path.name == row.file)
        document = ids[number][row.document - 1]
        last = row.first_token + row.overlap_tokens
        sequence = document[row.first_token : last]
        everywhere = [list(occurrences(documents, sequence)) for documents in ids]
        assert row.occurrences == sum(map(len, everywhere))
        assert next(n for n, found in enumerate(everywhere) if found) == number
        assert everywhere[number][0] == (row.document, row.first_token)
        assert tokenizer.decode(sequence) == row.overlap_text
        around = row.before + row.overlap_text + row.after
        if "\ufffd" not in around:
            assert around in normalise(files[number][row.document - 1])
