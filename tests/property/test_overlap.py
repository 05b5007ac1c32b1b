"""The streaming index, the CDAWG and all substrings in a table give the same overlaps."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.overlap import cdawg_build
from lingprob.overlap.automaton import StimulusIndex, build_index
from lingprob.overlap.cdawg import build_cdawg
from lingprob.overlap.passages import longest_matches, passage_overlaps
from lingprob.overlap.streaming import ScanResult, merge, scan
from lingprob.overlap.token_blocks import TokenBlock
from overlap_reference import Sequences, arrays, block, random_case, slow_matches

MIN_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 9, 12)
sequences = st.lists(st.lists(st.integers(0, 3), max_size=25), min_size=1, max_size=4)


def index_of(passages: Sequences, vocabulary_size: int = 10) -> StimulusIndex:
    return build_index(arrays(passages), tokenizer_hash="t", vocabulary_size=vocabulary_size)


def scanned(
    index: StimulusIndex, blocks: Sequence[TokenBlock], file: str = "0", min_length: int = 1,
    separator: int | None = None,
) -> ScanResult:  # fmt: skip
    return scan(
        index, blocks, file=file, tokenizer_hash="t", min_length=min_length,
        separator=separator,
    )  # fmt: skip


def check_everything(passages: Sequences, documents: Sequences) -> None:
    """Compare all ways and all minimal lengths with the table of substrings."""
    lengths, frequencies = slow_matches(passages, documents)
    index = index_of(passages)
    for min_length in MIN_LENGTHS:
        result = scanned(index, [block(documents)], min_length=min_length)
        found, counted = longest_matches(index, result)
        known = lengths >= min_length
        np.testing.assert_array_equal(found, np.where(known, lengths, 0))
        np.testing.assert_array_equal(counted, np.where(known, frequencies, 0))
    cdawg = build_cdawg([block(documents)], tokenizer_hash="t", vocabulary_size=10)
    found, counted = cdawg.longest_matches(index.tokens, index.offsets, tokenizer_hash="t")
    np.testing.assert_array_equal(found, lengths)
    np.testing.assert_array_equal(counted, frequencies)


@settings(deadline=None, max_examples=200)
@given(passages=sequences, documents=sequences)
def test_streaming_and_cdawg_find_what_the_table_has(
    passages: Sequences, documents: Sequences
) -> None:
    check_everything(passages, documents)


@settings(deadline=None, max_examples=100)
@given(documents=sequences, data=st.data())
def test_passages_taken_from_the_corpus_and_from_one_another(
    documents: Sequences, data: st.DataObject
) -> None:
    """Passages are stretches of documents or of other passages, so most matches are long."""
    passages: Sequences = []
    for _ in range(data.draw(st.integers(1, 5))):
        source = data.draw(st.sampled_from([*documents, *passages]))
        start = data.draw(st.integers(0, len(source)))
        passages.append(source[start : data.draw(st.integers(start, len(source)))])
    check_everything(passages, documents)


@pytest.mark.slow
def test_ten_thousand_random_cases() -> None:
    generator = random.Random(20251121)
    for _ in range(10_000):
        check_everything(*random_case(generator))


@settings(deadline=None, max_examples=60)
@given(
    passages=sequences,
    documents=st.lists(st.lists(st.integers(0, 3), max_size=25), min_size=1, max_size=8),
    file_of=st.lists(st.integers(0, 2), min_size=8, max_size=8),
    min_length=st.sampled_from(MIN_LENGTHS),
    order=st.permutations(range(3)),
)
def test_any_split_into_files_and_any_order_of_merging_give_the_same(
    passages: Sequences, documents: Sequences, file_of: list[int], min_length: int,
    order: list[int],
) -> None:  # fmt: skip
    index = index_of(passages)
    # A document of foreign tokens makes the files differ, so that none is refused as a copy.
    parts = [
        [document for document, file in zip(documents, file_of, strict=False) if file == number]
        + [[9] * (number + 1)]
        for number in range(3)
    ]
    whole = scanned(index, [block([*parts[0], *parts[1], *parts[2]])], min_length=min_length)
    results = [scanned(index, [block(parts[i])], str(i), min_length) for i in order]
    together = merge(results)
    stepwise = merge([results[2], merge(results[:2])])
    one_block_each = scanned(
        index, [block([document]) for part in parts for document in part], min_length=min_length
    )
    for other in (together, stepwise, one_block_each):
        assert other.n_tokens == whole.n_tokens
        for name in ("states", "visits", "longest", "at_longest"):
            np.testing.assert_array_equal(getattr(other, name), getattr(whole, name))


@settings(deadline=None, max_examples=60)
@given(
    passages=sequences, documents=sequences, min_length=st.sampled_from(MIN_LENGTHS),
    row_length=st.integers(1, 9),
)  # fmt: skip
def test_separators_and_rows_both_end_documents(
    passages: Sequences, documents: Sequences, min_length: int, row_length: int
) -> None:
    separator = 7
    stream = [token for document in documents for token in [*document, separator]]
    rows = [stream[i : i + row_length] for i in range(0, len(stream), row_length)]
    pieces: Sequences = [[]]
    for row in rows:
        for token in row:
            if token == separator:
                pieces.append([])
            else:
                pieces[-1].append(token)
        pieces.append([])
    index = index_of(passages)
    results = [
        scanned(index, [block(rows)], min_length=min_length, separator=separator),
        scanned(index, [block(pieces)], min_length=min_length),
    ]
    for one, other in zip(*(longest_matches(index, result) for result in results), strict=True):
        np.testing.assert_array_equal(one, other)
    graphs = [
        build_cdawg([block(rows)], tokenizer_hash="t", vocabulary_size=10, separator=separator),
        build_cdawg([block(pieces)], tokenizer_hash="t", vocabulary_size=10),
    ]
    matches = [
        graph.longest_matches(index.tokens, index.offsets, tokenizer_hash="t") for graph in graphs
    ]
    np.testing.assert_array_equal(matches[0], matches[1])


@settings(deadline=None, max_examples=60)
@given(passages=sequences, documents=sequences, min_length=st.sampled_from(MIN_LENGTHS))
def test_wide_ids_and_32_bit_files_give_the_same_as_narrow_ones(
    passages: Sequences, documents: Sequences, min_length: int
) -> None:
    """The same ids, 32-bit; and ids moved beyond 16 bits in a vocabulary that needs more."""
    expected = longest_matches(
        index := index_of(passages), scanned(index, [block(documents)], min_length=min_length)
    )
    found = longest_matches(
        index, scanned(index, [block(documents, "uint32")], min_length=min_length)
    )
    np.testing.assert_array_equal(found, expected)
    moved = [
        [[token + 70_000 for token in text] for text in part] for part in (passages, documents)
    ]
    index = index_of(moved[0], vocabulary_size=100_000)
    # Multiples of 65,536 away from passages' ids: to be taken for them would be an overflow.
    foreign = [[token - 65_536 for token in text] for text in moved[1]]
    wide = block(moved[1] + foreign, "uint32")
    found = longest_matches(index, scanned(index, [wide], min_length=min_length))
    np.testing.assert_array_equal(found, expected)
    graph = build_cdawg([wide], tokenizer_hash="t", vocabulary_size=100_000)
    lengths, _ = graph.longest_matches(index.tokens, index.offsets, tokenizer_hash="t")
    if min_length == 1:
        np.testing.assert_array_equal(lengths, expected[0])


@settings(deadline=None, max_examples=60)
@given(passages=sequences, documents=sequences)
def test_longest_overlap_of_each_passage_and_all_its_places(
    passages: Sequences, documents: Sequences
) -> None:
    lengths, frequencies = slow_matches(passages, documents)
    index = index_of(passages)
    table = passage_overlaps(index, *longest_matches(index, scanned(index, [block(documents)])))
    assert table.passage.unique().tolist() == list(range(len(passages)))
    start = 0
    for number, passage in enumerate(passages):
        rows = table[table.passage == number]
        own = lengths[start : start + len(passage)]
        longest = max(own, default=0)
        assert (rows.passage_tokens == len(passage)).all()
        assert (rows.overlap_tokens == longest).all()
        if longest:
            places = [place for place, length in enumerate(own) if length == longest]
            assert rows.last_token.tolist() == places
            assert rows.frequency.tolist() == [frequencies[start + place] for place in places]
        else:
            assert (rows.last_token.tolist(), rows.frequency.tolist()) == ([-1], [0])
        start += len(passage)


def test_larger_texts_fill_hash_tables_and_bitmaps() -> None:
    """Thousands of symbols and nodes: streaming and CDAWG, which share no code, agree."""
    generator = np.random.default_rng(3)
    ids = np.minimum(generator.zipf(1.3, 300_000), 30_000)
    documents = np.array_split(ids, 40)
    passages = [np.concatenate([documents[i][100:600], generator.permutation(documents[i][:400])])
                for i in range(0, 40, 4)]  # fmt: skip
    index = build_index(passages, tokenizer_hash="t", vocabulary_size=30_001)
    corpus = [block([document.tolist() for document in documents])]
    graph = build_cdawg(corpus, tokenizer_hash="t", vocabulary_size=30_001)
    lengths, frequencies = graph.longest_matches(index.tokens, index.offsets, tokenizer_hash="t")
    assert (lengths[499::900] >= 500).all()
    for min_length in (1, 4, 5, 8, 12, 40):
        found, counted = longest_matches(index, scanned(index, corpus, min_length=min_length))
        known = lengths >= min_length
        np.testing.assert_array_equal(found, np.where(known, lengths, 0))
        np.testing.assert_array_equal(counted, np.where(known, frequencies, 0))


def test_the_cdawg_outgrows_the_room_set_aside() -> None:
    generator = np.random.default_rng(4)
    text = np.minimum(generator.zipf(1.5, 5000), 99).astype(np.uint16)
    text[::250] = separator = 2**16 - 1
    text[-1] = separator
    expected = cdawg_build.pack(*cdawg_build.build(text, separator))
    room = (np.empty((8, 4), np.int32), np.empty((16, 4), np.int32), np.zeros((8, 1), np.int32))
    grown = cdawg_build.pack(*cdawg_build._build(text, separator, *room))
    for one, other in zip(grown, expected, strict=True):
        np.testing.assert_array_equal(one, other)
