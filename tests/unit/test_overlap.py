"""Exact and soft overlaps by hand-derived values, at their limits, and for wrong input."""

import gzip
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from transformers import AutoTokenizer

from lingprob.errors import LingprobError
from lingprob.io.corpora import iter_documents
from lingprob.io.progress import Progress
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import Tokenizer
from lingprob.overlap import automaton, cdawg
from lingprob.overlap.automaton import PassageIndex, build_index, load_arrays, save_arrays
from lingprob.overlap.cdawg import Cdawg, build_cdawg, load_cdawg
from lingprob.overlap.corpora import CorpusFile, SavedFile, index_texts
from lingprob.overlap.matches import Matches, merge, overlap_texts, passage_overlaps
from lingprob.overlap.soft import (
    find_soft_overlaps,
    longest_of_files,
    soft_overlaps,
    summarise_soft_overlaps,
)
from lingprob.overlap.streaming import scan
from lingprob.overlap.token_blocks import (
    block_of,
    map_rows,
    normalise,
    read_rows,
    read_texts,
    token_ids,
)
from models_for_tests import VOCABULARY_SIZE, save_tiny_masked_tokenizer
from overlap_reference import Sequences, arrays, block, graph_of, index_of, slow_matches

HELLOWORLD = [ord(letter) for letter in "helloworld"]
LLOYD = [ord(letter) for letter in "lloyd"]
MARK = 2**16 - 1


def matched(index: PassageIndex, documents: Sequences, file: str = "a", **options: Any) -> Matches:
    return scan(index, [block(documents)], file=file, tokenizer_hash="t", **options)


def found_by(graph: Cdawg, query: list[int]) -> list[list[int]]:
    offsets = np.array([0, len(query)])
    found = graph.longest_matches(np.array(query, dtype=int), offsets, tokenizer_hash="t")
    return [values.tolist() for values in found]


@pytest.fixture(scope="module")
def index() -> PassageIndex:
    """Index the paper's query, an empty passage and a short one."""
    return index_of([LLOYD, [], [7, 8, 9]])


# Longest matches.


def test_the_papers_example(index: PassageIndex) -> None:
    """Querying 'lloyd' against 'helloworld' (leakage, footnote 2)."""
    found = matched(index, [HELLOWORLD])
    assert found.lengths.tolist() == [1, 2, 3, 0, 1, 0, 0, 0]
    assert found.frequencies.tolist() == [3, 1, 1, 0, 1, 0, 0, 0]
    assert found_by(graph_of([HELLOWORLD]), LLOYD) == [[1, 2, 3, 0, 1], [3, 1, 1, 0, 1]]
    for blocks in ([], [block([])]):
        graph = build_cdawg(blocks, tokenizer_hash="t", vocabulary_size=300)
        assert found_by(graph, LLOYD) == [[0] * 5, [0] * 5]


def test_texts_of_the_longest_overlaps(index: PassageIndex) -> None:
    overlaps = passage_overlaps(index, matched(index, [HELLOWORLD, [8, 9]]))
    assert overlaps["frequency"].tolist() == [1, 0, 1]
    texts = overlap_texts(index, overlaps, lambda ids: f"{''.join(map(chr, ids))}.")
    assert texts == ["llo.", "", "\x08\t."]


@pytest.mark.parametrize(("edges", "slots"), [(2, 16), (8, 16), (9, 32), (16, 32), (17, 64)])
def test_hash_table_of_edges_is_half_empty(edges: int, slots: int) -> None:
    passages = [[1, 10 + number] for number in range(edges)]
    index = index_of(passages)
    assert len(index.slots) == slots
    assert matched(index, passages).frequencies.tolist() == [edges, 1] * edges


@pytest.mark.parametrize("vocabulary_size", [60_000, 100_000])
def test_graph_nodes_with_many_continuations(vocabulary_size: int) -> None:
    """From rows through hash tables of 24, 32 and 48, and if a node is split in two.

    The first document ends at a place from which the others continue.
    """
    generator = np.random.default_rng(1)
    symbols = generator.choice(np.arange(9, vocabulary_size), 45, replace=False).tolist()
    documents = [[1, 2]] + [[1, 2, symbol] for symbol in symbols]
    documents += [[3, 2, symbol, 4] for symbol in symbols[:14]] + [symbols[::2], symbols[::-3]]
    for count in (13, 16, 17, 21, 28, 41, len(documents)):
        kept = documents[:count] + documents[-5:]
        passages = [*documents, *([before, 2, symbol] for before in (3, 4) for symbol in symbols)]
        offsets = np.cumsum([0, *map(len, passages)])
        found = graph_of(kept, vocabulary_size).longest_matches(
            np.concatenate(arrays(passages)), offsets, tokenizer_hash="t"
        )
        np.testing.assert_array_equal(found, slow_matches(passages, kept))


@pytest.mark.parametrize(
    ("vocabulary_size", "dtype", "mark"),
    [(2**16 - 1, "uint16", MARK), (2**16, "uint32", 2**31 - 1)],
)
def test_largest_id_is_no_end_of_a_document(vocabulary_size: int, dtype: str, mark: int) -> None:
    last = vocabulary_size - 1
    graph = graph_of([[1, last, 1]], vocabulary_size)
    assert (graph.text.dtype, graph.text.tolist()) == (dtype, [1, last, 1, mark])
    assert found_by(graph, [1, last, 1])[0] == [1, 2, 3]


# Merged files.


def test_merged_frequencies_exceed_32_bits(index: PassageIndex) -> None:
    part = matched(index, [HELLOWORLD])
    huge = replace(part, name="b", digest="other", n_tokens=2**40, n_words=5,
                   frequencies=part.frequencies * 2**33)  # fmt: skip
    total = merge([part, huge])
    assert (total.n_tokens, total.n_words) == (2**40 + 10, 0)
    assert total.frequencies[0] == 3 * (2**33 + 1)
    assert merge([replace(part, n_words=4), huge]).n_words == 9


def test_merging_refuses_doubled_and_unlike_files(index: PassageIndex) -> None:
    part = matched(index, [HELLOWORLD])
    with pytest.raises(LingprobError, match="'a' and 'b' have the same tokens"):
        merge([part, matched(index, [HELLOWORLD], "b")])
    with pytest.raises(LingprobError, match=r"files 'a' and 'b' .* lengths \(1 and 5\)"):
        merge([part, matched(index, [[1]], "b", min_length=5)])
    other = index_of([[1]])
    with pytest.raises(LingprobError, match="different passages"):
        merge([part, matched(other, [[1]], "b")])
    with pytest.raises(LingprobError, match="other passages"):
        passage_overlaps(other, part)
    # Empty files are all alike, and add nothing.
    empty = merge([matched(index, [], "x"), matched(index, [], "y")])
    assert empty.lengths.sum() == 0


def test_file_digests_depend_on_ids_and_order() -> None:
    """Of ids that no passage has, of 32 bits, and of four or fewer at the end of a block."""
    documents = [[1, 2, 3, 4, 5], [2, 1, 3, 4, 5], [1, 2, 3, 4, 6], [1, 2, 3, 5, 4],
                 [1, 2, 3, 4, 5, 0], [*range(1, 9)], [*range(5, 9), *range(1, 5)]]  # fmt: skip
    for size, shift in ((300, 0), (100_000, 70_000), (2**17, 2**16)):
        index = index_of([[1, 2]], size)
        moved = [[[token + shift for token in one]] for one in documents]
        digests = [
            scan(index, [block(one, dtype)], file="a", tokenizer_hash="t").digest
            for one in moved
            for dtype in (["uint16", "uint32"] if not shift else ["uint32"])
        ]
        given = index, Tokenizer(None, size, "t"), 1, Progress(None, "scanning", "tokens")
        saved = [SavedFile("a", graph_of(one, size)).find_matches(*given).digest for one in moved]
        assert len({*digests}) == len({*saved}) == len(documents)


# Input that cannot be right.


def test_wrong_tokenizers_and_ids_are_refused(index: PassageIndex) -> None:
    with pytest.raises(LingprobError, match="same tokenizer"):
        scan(index, [], file="a", tokenizer_hash="other")
    with pytest.raises(LingprobError, match=r"ids from 5 to 300.*wrong dtype"):
        matched(index, [[5, 300]])
    with pytest.raises(LingprobError, match="min_length is 0"):
        matched(index, [], min_length=0)
    with pytest.raises(LingprobError, match="token 7 separates"):
        matched(index, [], separator=7)
    graph = graph_of([[1]])
    with pytest.raises(LingprobError, match=r"corpus is tokenised with 't'.*same tokenizer"):
        graph.longest_matches(np.array([1]), np.array([0, 1]), tokenizer_hash="other")
    with pytest.raises(LingprobError, match="ids from 300"):
        found_by(graph, [300])
    with pytest.raises(LingprobError, match="ids from 400"):
        graph_of([[400]])
    for passages, said in (
        ([[1], [3, -1]], "the passages: token ids from -1 to 3"),
        ([[10]], "the passages: token ids from 10"),
    ):
        with pytest.raises(LingprobError, match=said):
            index_of(passages, 10)
    assert index_of([[]]).offsets.tolist() == [0, 0]


def test_limits_of_tokens_and_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LingprobError, match="have 4194305 tokens, 1 of them different"):
        build_index([np.zeros(2**22 + 1, int)], tokenizer_hash="t", vocabulary_size=9)
    with pytest.raises(LingprobError, match=r"65536 of them different\. An index can have 4194304"):
        build_index([np.arange(2**16)], tokenizer_hash="t", vocabulary_size=2**16)
    assert [index_of([[65_535]], size).is_narrow for size in (2**16, 2**16 + 1)] == [True, False]
    monkeypatch.setattr(automaton, "MAX_TOKENS", 3)
    monkeypatch.setattr(automaton, "MAX_NARROW", 3)
    assert len(index_of([[1, 2], [2]]).tokens) == 3
    for passages in ([[1, 2], [2, 1]], [[1, 2], [0]]):
        with pytest.raises(LingprobError, match="Split the passages"):
            index_of(passages)
    assert cdawg.MAX_TOKENS == 2**30
    monkeypatch.setattr(cdawg, "MAX_TOKENS", 4)
    assert len(graph_of([[1, 2, 3]]).text) == 4
    with pytest.raises(LingprobError, match="has 5 tokens and ends"):
        graph_of([[1, 2], [3]])


# Files.


def test_saved_files_are_loaded_again(index: PassageIndex, tmp_path: Path) -> None:
    save_arrays(index, tmp_path / "index.npz")
    loaded = load_arrays(PassageIndex, tmp_path / "index.npz")
    changes = ({}, {"tokenizer_hash": "u"}, {"vocabulary_size": 301}, {"tokens": index.tokens + 1})
    digests = [replace(loaded, **change).digest for change in changes]
    digests += [index_of(passages).digest for passages in ([[1, 2], [3]], [[1], [2, 3]])]
    assert (digests[0], len({*digests})) == (index.digest, 6)
    found = replace(matched(loaded, [HELLOWORLD], min_length=2), n_words=3)
    save_arrays(found, tmp_path / "matches.npz")
    again = load_arrays(Matches, tmp_path / "matches.npz")
    for field in fields(Matches):
        expected = getattr(found, field.name)
        np.testing.assert_array_equal(getattr(again, field.name), expected)
        assert type(getattr(again, field.name)) is type(expected)
    folder = tmp_path / "a" / "b" / "cdawg"
    for _ in range(2):  # a second time over the first
        graph_of([HELLOWORLD]).save(folder)
    assert folder.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in folder.parent.iterdir()] == ["cdawg"]
    mapped = load_cdawg(folder)
    assert isinstance(mapped.edges, np.memmap)
    assert found_by(mapped, LLOYD)[0] == [1, 2, 3, 0, 1]


def test_broken_files_are_named(index: PassageIndex, tmp_path: Path) -> None:
    save_arrays(index, tmp_path / "index.npz")
    save_arrays(matched(index, [HELLOWORLD]), tmp_path / "matches.npz")
    for name, kind in (("index.npz", PassageIndex), ("matches.npz", Matches)):
        content = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(content[: len(content) // 2])
        objects: Any = {field.name: np.array({}, dtype=object) for field in fields(kind)}
        np.savez(tmp_path / "objects.npz", **objects)
        np.savez(tmp_path / "other.npz", lengths=content)
        (tmp_path / "empty.npz").touch()
        for file in (name, "absent.npz", "objects.npz", "other.npz", "empty.npz"):
            with pytest.raises(LingprobError, match=f"not a whole file of {kind.__name__}"):
                load_arrays(kind, tmp_path / file)
    graph_of([HELLOWORLD]).save(tmp_path / "cdawg")
    graph_of([[1]]).save(tmp_path / "small")
    edges, facts = (tmp_path / "cdawg" / name for name in ("edges.npy", "cdawg.json"))
    whole, others = edges.read_bytes(), (tmp_path / "small" / "edges.npy").read_bytes()
    for path, content in ((edges, whole[:-4]), (edges, b""), (edges, others), (facts, b"{}")):
        path.write_bytes(content)
        with pytest.raises(LingprobError, match="not a whole CDAWG"):
            load_cdawg(tmp_path / "cdawg")


@pytest.mark.parametrize(
    ("suffix", "dtype"), [(".npy", "uint16"), (".npy", "uint32"), (".bin", "uint16")]
)
@pytest.mark.parametrize(("row_length", "sizes"), [(4, [8, 8, 8, 4]), (14, [14, 14]), (1, [8] * 3)])
def test_token_rows_are_read_in_blocks(tmp_path, monkeypatch, suffix, dtype, row_length, sizes):
    monkeypatch.setattr("lingprob.overlap.token_blocks.TOKENS_PER_BLOCK", 8)
    tokens = np.arange(sum(sizes), dtype=dtype)
    path = tmp_path / f"rows{suffix}"
    if suffix == ".npy":
        np.save(path, tokens.reshape(-1, row_length))
    else:
        tokens.tofile(path)
    assert map_rows(path, row_length).shape == (len(tokens) // row_length, row_length)
    read = []
    for one, size in zip(read_rows(path, row_length=row_length), sizes, strict=True):
        assert one.offsets.tolist() == list(range(0, size + 1, row_length))
        read += one.tokens.tolist()
    assert read == tokens.tolist()
    blocks = read_rows(path, row_length=row_length)
    next(blocks)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LingprobError, match="became shorter"):
        list(blocks)
    with pytest.raises(LingprobError, match="cut short"):
        map_rows(path, row_length)
    with pytest.raises(LingprobError, match="cannot be read"):
        map_rows(tmp_path / f"absent{suffix}")


def test_rows_of_another_layout_are_refused(tmp_path: Path) -> None:
    rows = np.zeros((2, 3), dtype=np.uint16)
    for array, row_length, said in (
        (rows.astype(np.float32), 3, "contains float32"),
        (rows, 4, "rows of 3 tokens, not of 4"),
        (rows.ravel(), 4, "6 tokens are not a whole number of rows of 4"),
        (np.asfortranarray(rows), 3, "stored by columns"),
    ):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(LingprobError, match=said):
            map_rows(tmp_path / "a.npy", row_length)
    np.arange(1, 7, dtype="<u4").tofile(tmp_path / "a.bin")
    with pytest.raises(LingprobError, match="its ids are of 32 bits"):
        map_rows(tmp_path / "a.bin", 3)
    # An array of one dimension is by rows, whatever its header says.
    with open(tmp_path / "d.npy", "wb") as stream:
        described = {"descr": "<u2", "fortran_order": True, "shape": (6,)}
        np.lib.format.write_array_header_2_0(stream, described)
        np.arange(6, dtype="<u2").tofile(stream)
    assert [b.tokens.tolist() for b in read_rows(tmp_path / "d.npy", row_length=3)] == [[*range(6)]]


def test_a_file_without_tokens_is_refused(tmp_path: Path) -> None:
    """Every text would seem to be free of its corpus."""
    path = tmp_path / "empty.npy"
    np.save(path, np.zeros((0, 2049), dtype=np.uint16))
    file = CorpusFile("c/empty.npy", {"parser": "token_rows"}, [path])
    given = Tokenizer(None, 300, "t"), 1, Progress(None, "scanning", "tokens")
    with pytest.raises(LingprobError, match=r"empty\.npy: no token in it"):
        file.find_matches(index_of([[1]]), *given)


def test_texts_are_normalised_and_tokenised(tiny_tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl.gz"
    path.write_bytes(gzip.compress(b'{"text": "the cat\\n\\n sat  on"}\n{"text": "a"}\n'))
    (one,) = read_texts(iter_documents("lines", [path]), tiny_tokenizer.tokenizer)
    ids = token_ids(tiny_tokenizer.tokenizer, ["the cat sat on", "a"])
    assert one.tokens.tolist() == [*ids[0], *ids[1]]
    assert one.offsets.tolist() == [0, len(ids[0]), len(ids[0]) + 1]
    given: Any = {"tokenizer_hash": "t", "vocabulary_size": VOCABULARY_SIZE}
    scanned = scan(build_index([np.array([1])], **given), [one, one], file="a", tokenizer_hash="t")
    assert [each.n_words for each in (one, scanned, build_cdawg([one, one], **given))] == [
        5,
        10,
        10,
    ]
    assert normalise(" a\r\n\tb\u00a0c ") == "a b c"
    empty = block_of([])
    assert (len(empty.tokens), empty.offsets.tolist()) == (0, [0])


def test_letters_of_passages_without_a_token_are_named(tmp_path, caplog) -> None:
    """The two texts are the same to a tokenizer that has one token for all unknown letters."""
    save_tiny_masked_tokenizer("bert", tmp_path)
    tokenizer = Tokenizer(AutoTokenizer.from_pretrained(tmp_path), VOCABULARY_SIZE, "bert")
    index, _ = index_texts({"mine": pd.Series(["The 猫 sat", "The cat", "The 狗 sat"])}, tokenizer)
    assert index.passage(0).tolist() == index.passage(2).tolist()
    assert "no token for '猫', '狗'. Texts that differ only in such letters are" in caplog.text
    assert "2 texts, such as 'The 猫 sat'" in caplog.text


def test_passages_are_normalised_as_corpora(tiny_tokenizer: Tokenizer, caplog) -> None:
    """A no-break space is a space in both. One space before the first word is kept. Accents are
    composed, and invisible characters are named.
    """
    texts = pd.Series({"x": "the\u00a0cat  sat", "y": " \n the cat"})
    index, passages = index_texts({"mine": texts, "other": texts[:1]}, tiny_tokenizer)
    ids = token_ids(tiny_tokenizer.tokenizer, ["the cat sat", " the cat", "the cat sat"])
    assert [index.passage(number).tolist() for number in range(3)] == ids
    assert passages.to_numpy().tolist() == [["mine", 0, "x"], ["mine", 1, "y"], ["other", 0, "x"]]
    accents = pd.Series(["caf\u00e9", "cafe\u0301", "ca\u00adfe"])
    index, _ = index_texts({"mine": accents}, tiny_tokenizer)
    assert index.passage(0).tolist() == index.passage(1).tolist()
    (one,) = read_texts(accents[1:2], tiny_tokenizer.tokenizer)
    assert one.tokens.tolist() == (index.passage(0).tolist())
    assert "the text 'ca\\xadfe' has the invisible character U+00AD" in caplog.text


# Soft overlaps.

OPTIONS: Any = {"min_words": 4, "gaps": 1, "scale": "demo"}
NO_OVERLAP = (0, 0, "")


def words_of(passages: dict[str, str]) -> pd.DataFrame:
    rows = [
        (name, place, word, 0)
        for name, text in passages.items()
        for place, word in enumerate(text.split())
    ]
    return pd.DataFrame(rows, columns=["passage_id", "word_index", "word", "sentence_index"])


# "to-day" is two words, the dash none. Places in the passage are those of its own words.
TEXTS = {
    "one": words_of({"b": "He -- came to-day and went.", "a": "Nothing of the kind, Sir"}),
    "two": words_of({"a": "...", "b": "dont worry be happy"}),
}


def results(table: pd.DataFrame) -> list[tuple[object, ...]]:
    return list(table[["overlap_words", "gaps", "overlap_text"]].itertuples(index=False, name=None))


def test_soft_overlaps_have_places_and_texts(tmp_path: Path) -> None:
    documents = [
        "Yes. \u201cShe CAME,\n to day, and (then) left.",
        "Don\u2019t  worry; be happy!\u201d",
    ]
    table = soft_overlaps(TEXTS, documents, "corpus", **OPTIONS)
    write_table(table, "soft_overlap", tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", "soft_overlap")
    assert list(table) == SCHEMAS["soft_overlap"].names
    assert list(table["corpus"] + table["passage_id"]) == ["oneb", "onea", "twoa", "twob"]
    assert set(table["searched"]) == {"corpus"}
    assert table["passage_words"].tolist() == [6, 5, 0, 4]
    assert results(table) == [
        (4, 0, "CAME, to day, and"), NO_OVERLAP, NO_OVERLAP, (4, 0, "Don\u2019t worry; be happy")
    ]  # fmt: skip
    assert table["first_word"].astype("Int64").tolist() == [2, pd.NA, pd.NA, 0]
    assert table["last_word"].astype("Int64").tolist() == [4, pd.NA, pd.NA, 3]


def test_soft_overlaps_of_files_are_put_together() -> None:
    """More words win, then fewer gaps, then the first file. Passages keep their order."""
    files = [
        ["came to day once", "dont worry and be happy"],
        ["dont worry be happy. He came to day then went"],
        ["DONT WORRY BE HAPPY"],
    ]
    tables = [soft_overlaps(TEXTS, documents, "all", **OPTIONS) for documents in files]
    assert results(tables[0])[3] == (4, 1, "dont worry and be happy")
    longest = longest_of_files([*tables, tables[0].assign(searched="a")])
    assert results(longest) == [
        (5, 1, "He came to day then went"), NO_OVERLAP, NO_OVERLAP, (4, 0, "dont worry be happy"),
        NO_OVERLAP, NO_OVERLAP, NO_OVERLAP, (4, 1, "dont worry and be happy"),
    ]  # fmt: skip
    summary = summarise_soft_overlaps(longest).set_index(["searched", "corpus"])
    assert summary.index.get_level_values("searched").tolist() == ["all", "all", "a", "a"]
    columns = ["passages", "words", "overlapping", "whole", "median_overlap", "longest_overlap"]
    assert summary.loc[("all", "one"), columns].tolist() == [2, 11, 1, 0, 2.5, 5]
    assert summary.loc[("a", "two"), columns].tolist() == [2, 4, 1, 1, 2, 4]


def found_in(passage: str, *documents: str, min_words: int, gaps: int) -> list[tuple[Any, ...]]:
    table = find_soft_overlaps([passage.lower().split()], documents, min_words=min_words, gaps=gaps)
    assert list(table) == ["passage", "overlap_words", "gaps", "first", "last", "overlap_text"]
    return list(table.itertuples(index=False, name=None))


def test_first_of_equal_soft_overlaps_is_taken() -> None:
    first = [(0, 2, 0, 0, 1, "A b")]
    assert found_in("a b", "x A b x", "a B", min_words=2, gaps=0) == first
    assert found_in("a b", "A b, a B", min_words=2, gaps=0) == first
    assert found_in("a b c", "A b", "a B c", min_words=2, gaps=0) == [(0, 3, 0, 0, 2, "a B c")]
    assert found_in("a x b", "a B", "A x b", min_words=2, gaps=1) == [(0, 3, 0, 0, 2, "A x b")]
    # Without p, b follows a in both. Without the corpus's b, p does.
    assert found_in("a p b q", "a B p", min_words=2, gaps=1) == [(0, 2, 1, 0, 2, "a B")]
