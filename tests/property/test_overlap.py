"""Exact and soft overlaps against the obvious ways: tables of all substrings and alignments."""

import json
import random
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.overlap import cdawg_build
from lingprob.overlap.automaton import build_index
from lingprob.overlap.cdawg import build_cdawg
from lingprob.overlap.corpora import Corpus, CorpusFile, load_corpus, save_corpus, split_documents
from lingprob.overlap.matches import Matches, merge, passage_overlaps
from lingprob.overlap.search import longest_overlaps
from lingprob.overlap.soft import find_soft_overlaps, folded_words, quotation
from lingprob.overlap.streaming import scan
from overlap_reference import (
    Sequences,
    block,
    graph_of,
    index_of,
    slow_matches,
    slow_soft_overlap,
    words_in_common,
)

MIN_LENGTHS = (1, 2, 3, 4, 5, 6, 7, 9, 12)
sequences = st.lists(st.lists(st.integers(0, 3), max_size=25), min_size=1, max_size=4)


matched = partial(scan, file="0", tokenizer_hash="t")


def assert_equal(one: Matches, other: Matches) -> None:
    np.testing.assert_array_equal(one.lengths, other.lengths)
    np.testing.assert_array_equal(one.frequencies, other.frequencies)


@settings(deadline=None, max_examples=300)
@given(passages=sequences, documents=sequences, data=st.data())
def test_scans_and_graphs_equal_the_table(passages, documents, data):
    """All ways and all minimal lengths. Some passages are stretches of documents or passages."""
    for _ in range(data.draw(st.integers(0, 5))):
        source = data.draw(st.sampled_from([*documents, *passages]))
        start = data.draw(st.integers(0, len(source)))
        passages.append(source[start : data.draw(st.integers(start, len(source)))])
    lengths, frequencies = slow_matches(passages, documents)
    index = index_of(passages)
    for min_length in MIN_LENGTHS:
        found = matched(index, [block(documents)], min_length=min_length)
        known = lengths >= min_length
        np.testing.assert_array_equal(found.lengths, np.where(known, lengths, 0))
        np.testing.assert_array_equal(found.frequencies, np.where(known, frequencies, 0))
    graph = graph_of(documents)
    found = graph.longest_matches(index.tokens, index.offsets, tokenizer_hash="t")
    np.testing.assert_array_equal(found, [lengths, frequencies])


@settings(deadline=None, max_examples=60)
@given(
    passages=sequences,
    documents=st.lists(st.lists(st.integers(0, 3), max_size=25), min_size=1, max_size=8),
    file_of=st.lists(st.integers(0, 2), min_size=8, max_size=8),
    min_length=st.sampled_from(MIN_LENGTHS),
    order=st.permutations(range(3)),
)
def test_merged_files_equal_one_file(passages, documents, file_of, min_length, order):
    index = index_of(passages)
    # A document of foreign tokens makes the files differ, so that none is refused as a copy.
    parts = [
        [document for document, file in zip(documents, file_of, strict=False) if file == number]
        + [[9] * (number + 1)]
        for number in range(3)
    ]
    whole = matched(index, [block([*parts[0], *parts[1], *parts[2]])], min_length=min_length)
    results = [matched(index, [block(parts[i])], file=str(i), min_length=min_length) for i in order]
    one_block_each = matched(
        index, [block([document]) for part in parts for document in part], min_length=min_length
    )
    for other in (merge(results), merge([results[2], merge(results[:2])]), one_block_each):
        assert other.n_tokens == whole.n_tokens
        assert_equal(other, whole)


@settings(deadline=None, max_examples=60)
@given(
    passages=sequences, documents=sequences, min_length=st.sampled_from(MIN_LENGTHS),
    row_length=st.integers(1, 9),
)  # fmt: skip
def test_separators_and_rows_end_documents(passages, documents, min_length, row_length):
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
    assert_equal(
        matched(index, [block(rows)], min_length=min_length, separator=separator),
        matched(index, [block(pieces)], min_length=min_length),
    )
    parted = split_documents(block(rows), separator)
    assert parted.tokens.tolist() == [token for piece in pieces for token in piece]
    # The last piece follows the end of the last row.
    assert np.diff(parted.offsets).tolist() == list(map(len, pieces[:-1]))
    assert split_documents(parted, None) is parted


@settings(deadline=None, max_examples=60)
@given(passages=sequences, documents=sequences, min_length=st.sampled_from(MIN_LENGTHS))
def test_wide_and_narrow_ids_give_the_same(passages, documents, min_length):
    """The same ids, 32-bit; and ids moved beyond 16 bits in a vocabulary that needs more."""
    index = index_of(passages)
    expected = matched(index, [block(documents)], min_length=min_length)
    assert_equal(matched(index, [block(documents, "uint32")], min_length=min_length), expected)
    moved = [
        [[token + 70_000 for token in text] for text in part] for part in (passages, documents)
    ]
    index = index_of(moved[0], vocabulary_size=100_000)
    # Ids at multiples of 65,536 from the passages' would be mistaken for them by an overflow.
    foreign = [[token - 65_536 for token in text] for text in moved[1]]
    wide = block(moved[1] + foreign, "uint32")
    assert_equal(matched(index, [wide], min_length=min_length), expected)
    graph = build_cdawg([wide], tokenizer_hash="t", vocabulary_size=100_000)
    lengths, _ = graph.longest_matches(index.tokens, index.offsets, tokenizer_hash="t")
    if min_length == 1:
        np.testing.assert_array_equal(lengths, expected.lengths)


@settings(deadline=None, max_examples=60)
@given(passages=sequences, documents=sequences)
def test_longest_overlaps_have_all_their_places(passages: Sequences, documents: Sequences) -> None:
    lengths, frequencies = slow_matches(passages, documents)
    index = index_of(passages)
    table = passage_overlaps(index, matched(index, [block(documents)]))
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


def test_larger_texts_fill_hash_tables() -> None:
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
        found = matched(index, corpus, min_length=min_length)
        known = lengths >= min_length
        np.testing.assert_array_equal(found.lengths, np.where(known, lengths, 0))
        np.testing.assert_array_equal(found.frequencies, np.where(known, frequencies, 0))


def test_graph_outgrows_its_room() -> None:
    generator = np.random.default_rng(4)
    text = np.minimum(generator.zipf(1.5, 5000), 99).astype(np.uint16)
    text[::250] = separator = 2**16 - 1
    text[-1] = separator
    room = (np.empty((8, 4), np.int32), np.empty((16, 4), np.int32), np.zeros((8, 1), np.int32))
    grown, expected = (
        cdawg_build.pack(*built, np.argsort(built[0][:, cdawg_build.LENGTH]))
        for built in (
            cdawg_build._build(text, separator, *room), cdawg_build.build(text, separator)
        )
    )  # fmt: skip
    for one, other in zip(grown, expected, strict=True):
        np.testing.assert_array_equal(one, other)


# Overlaps of texts.

# Words whose tokens others begin or end with. Some have more bytes than characters.
WORDS = ["The", "Then", "cat", "cats", "é", "naïve", "東京", "🙂", "&", "mat.", "<b>"]
texts_of_words = st.lists(st.sampled_from(WORDS), min_size=1, max_size=7).map(" ".join)


@settings(deadline=None, max_examples=40)
@given(
    texts=st.lists(texts_of_words, min_size=1, max_size=4),
    files=st.lists(st.lists(texts_of_words, min_size=1, max_size=3), min_size=1, max_size=2),
    min_length=st.sampled_from([1, 3, 5]),
)
def test_longest_overlaps_equal_those_of_all_stretches(tiny_tokenizer, texts, files, min_length):
    # A word of its own keeps two files from being copies of one another.
    files = [[*documents, f"x{number}"] for number, documents in enumerate(files)]
    encode = tiny_tokenizer.tokenizer.encode
    everything = [encode(text) for documents in files for text in documents]
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"{number}.jsonl") for number in range(len(files))]
        for path, documents in zip(paths, files, strict=True):
            lines = (json.dumps({"text": text.replace(" ", " \n ")}) for text in documents)
            path.write_text("\n".join(lines))
        corpus = Corpus("c", [CorpusFile(path.name, {"parser": "lines"}, [path]) for path in paths])
        series = pd.Series(texts, [f"t{number}" for number in range(len(texts))])
        spaced = series.str.replace(" ", "\t ")
        table = longest_overlaps(spaced, [corpus], tiny_tokenizer, min_length)
        save_corpus(corpus, tiny_tokenizer, "tiny", Path(folder, "saved"))
        saved = load_corpus(Path(folder, "saved"))
        again = longest_overlaps(spaced, [saved], tiny_tokenizer, min_length)
    pd.testing.assert_frame_equal(again, table)
    n_words = sum(len(text.split()) for documents in files for text in documents)
    assert (table["corpus_words"] == n_words).all()
    assert table["text_id"].tolist() == series.index.tolist()
    for row, text in zip(table.itertuples(), texts, strict=True):
        variants = [encode(space + text) for space in ("", " ")]
        matches = [slow_matches([variant], everything) for variant in variants]
        longest = [int(lengths.max()) for lengths, _ in matches]
        longest = [length if length >= min_length else 0 for length in longest]
        shares = [n / len(variant) for n, variant in zip(longest, variants, strict=True)]
        assert row.overlap_tokens / row.n_tokens == max(shares)
        if not max(shares):
            assert (row.occurrences, row.last_token, row.overlap_text) == (0, -1, "")
            continue
        # The overlap is one of a variant that has the largest share, and the most frequent one.
        best = [which for which in (0, 1) if shares[which] == max(shares)]
        occurrences = {
            tuple(variants[which]): matches[which][1][matches[which][0] == longest[which]].max()
            for which in best
        }
        # Whole texts in two forms are at other places, unless one form is the end of the other.
        short, long = sorted(map(tuple, variants), key=len)
        together = sum if max(shares) == 1 and long[-len(short) :] != short else max
        assert row.occurrences == together(occurrences.values())
        sequences = [
            variants[which][row.last_token + 1 - row.overlap_tokens : row.last_token + 1]
            for which in best
        ]
        decoded = map(tiny_tokenizer.decode, sequences)
        assert row.overlap_text in [text.strip("\N{REPLACEMENT CHARACTER}") for text in decoded]


# Soft overlaps.

texts = st.lists(st.lists(st.sampled_from("abc"), max_size=20), min_size=1, max_size=3)
numbers = {"min_words": st.integers(1, 9), "gaps": st.integers(0, 3)}


def check_soft_overlaps(
    passages: list[list[str]], documents: list[list[str]], min_words: int, gaps: int
) -> None:
    """Compare words and gaps with the table's, and align the reported overlap."""
    texts = [" ".join(document) for document in documents]
    found = find_soft_overlaps(passages, texts, min_words=min_words, gaps=gaps)
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
def test_soft_overlaps_equal_those_of_all_alignments(passages, documents, min_words, gaps):
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


def test_longer_texts_in_several_batches():
    """Two thousand words, of which half are in the corpus, with a gap after every hundredth."""
    generator = random.Random(3)
    passage = [f"w{generator.randrange(400)}" for _ in range(2000)]
    copy = list(passage[500:1500])
    for place in range(100, 1000, 100):
        copy[place] = "else"
    filler = " ".join(f"v{generator.randrange(10**6)}" for _ in range(200_000))
    documents = [filler, f"{filler} {' '.join(copy)}.", filler]
    found = find_soft_overlaps([passage, ["other"]], documents, min_words=12, gaps=2)
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
def test_quotations_have_their_words(text):
    words = folded_words(text)
    for first in range(min(len(words), 4)):
        for last in range(first, min(len(words), first + 3)):
            assert folded_words(quotation(text, first, last)) == words[first : last + 1]
