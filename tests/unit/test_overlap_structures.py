"""What indexes are made of, by hand: states and edges, hash tables, filters and checksums."""

from __future__ import annotations

import hashlib
from collections import Counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from lingprob.errors import LingprobError
from lingprob.overlap import automaton, cdawg, streaming
from lingprob.overlap.automaton import StimulusIndex, build_index, find_target
from lingprob.overlap.cdawg import Cdawg, build_cdawg
from lingprob.overlap.streaming import ScanResult, merge, scan
from overlap_reference import Sequences, arrays, block, slow_matches

OPEN = 2**31 - 1
FOREIGN = 50

pytestmark = pytest.mark.filterwarnings("ignore:overflow")


def index_of(passages: Sequences, vocabulary_size: int = 300) -> StimulusIndex:
    return build_index(arrays(passages), tokenizer_hash="t", vocabulary_size=vocabulary_size)


def graph_of(documents: Sequences, vocabulary_size: int = 300) -> Cdawg:
    return build_cdawg([block(documents, "uint32")], tokenizer_hash="t",
                       vocabulary_size=vocabulary_size)  # fmt: skip


def scanned(index: StimulusIndex, *blocks: Any, file: str = "a", min_length: int = 1) -> ScanResult:
    return scan(index, blocks, file=file, tokenizer_hash="t", min_length=min_length)


def test_the_automaton_of_three_tokens() -> None:
    """'7 7 9': 7; 7 7; and 7 7 9, which also stands for 7 9 and 9. After 7 come 7 and 9."""
    index = index_of([[7, 7, 9], []])
    assert index.nodes.tolist() == [[0, 0, -1, -1], [1, 0, -2, -1], [2, 1, 2, 3], [3, 0, -1, -1]]
    assert index.root_targets.tolist() == [0, 1, 3]
    assert index.prefix_states.tolist() == [1, 2, 3]
    edges = [(state << 16 | symbol) << 24 | target for state, symbol, target in
             [(1, 1, 2), (1, 2, 3)]]  # fmt: skip
    assert sorted(index.slots) == [0] * 14 + edges
    assert index.vocabulary.tolist() == [7, 9]
    tables = (index.nodes, index.slots)
    found = [[find_target(*tables, np.uint64(state), np.uint64(symbol)) for symbol in (1, 2)]
             for state in (1, 2, 3)]  # fmt: skip
    assert found == [[2, 3], [-1, 3], [-1, -1]]
    content = b"t 300" + np.array([0, 3, 3]).tobytes() + np.array([7, 7, 9]).tobytes()
    assert index.digest == hashlib.sha256(content).hexdigest()[:32]
    assert index_of([[]]).nodes.tolist() == [[0, 0, -1, -1]]


@pytest.mark.parametrize(("edges", "slots"), [(2, 16), (8, 16), (9, 32), (16, 32), (17, 64)])
def test_at_most_half_of_the_hash_table_of_edges_is_filled(edges: int, slots: int) -> None:
    passages = [[1, 10 + number] for number in range(edges)]
    index = index_of(passages)
    assert len(index.slots) == slots
    assert np.count_nonzero(index.slots) == edges
    result = scanned(index, block(passages))
    assert result.visits.tolist() == [edges] + [1] * edges


def test_as_many_tokens_and_ids_as_an_index_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LingprobError, match="have 4194305 tokens, 1 of them different; an index"):
        build_index([np.zeros(2**22 + 1, int)], tokenizer_hash="t", vocabulary_size=9)
    with pytest.raises(LingprobError, match="65536 of them different; an index holds 4194304 and"):
        build_index([np.arange(2**16)], tokenizer_hash="t", vocabulary_size=2**16)
    narrow = [index_of([[65_535]], size).is_narrow for size in (2**16, 2**16 + 1)]
    assert narrow == [True, False]
    monkeypatch.setattr(automaton, "MAX_TOKENS", 3)
    monkeypatch.setattr(automaton, "MAX_NARROW", 3)
    assert len(index_of([[1, 2], [2]]).tokens) == 3
    with pytest.raises(LingprobError, match="4 tokens"):
        index_of([[1, 2], [2, 1]])
    with pytest.raises(LingprobError, match="3 of them different"):
        index_of([[1, 2], [0]])


def test_a_scan_counts_the_states_that_it_visits_and_no_other() -> None:
    """l, l, o, o, l and d of 'helloworld' are in 'lloyd'; at l and o of 'llo' it is longer."""
    index = index_of([[ord(letter) for letter in "lloyd"]])
    found = scanned(index, block([[ord(letter) for letter in "helloworld"]]), min_length=3)
    assert found.min_length == 3
    assert (found.states > 0).all()
    assert sorted(zip(found.visits, found.longest, found.at_longest, strict=True)) == [
        (1, 1, 1), (1, 2, 1), (2, 1, 2), (2, 3, 1)
    ]  # fmt: skip


def checksum(codes: list[int]) -> int:
    """Four codes at a time, the last ones alone; after Fletcher, in integers of any size."""
    whole = len(codes) // 4 * 4
    words = [
        sum(code << 16 * place for place, code in enumerate(codes[start : start + 4]))
        for start in range(0, whole, 4)
    ]
    total, weighted = 1, 0
    for word in [*words, *codes[whole:]]:
        total += word
        weighted += total
    return (total % 2**64) ^ (weighted * 0x1E3779B97F4A7C15) % 2**64


def test_a_file_s_digest_is_of_its_blocks_checksums_whatever_their_dtype() -> None:
    index = index_of([[1, 2]], 2**16)
    parts = [[65_535] * 9 + [1, 2, 3, 4, 5], [7], [60_000, 3, 2, 1]]
    content = hashlib.blake2b(digest_size=16)
    for part in parts:
        content.update(np.array([len(part), checksum(part)], dtype=np.uint64).tobytes())
    for dtype in ("uint16", "uint32"):
        blocks = [block([part], dtype) for part in [*parts[:2], [], *parts[2:]]]
        assert scanned(index, *blocks).files == {"a": content.hexdigest()}
    wide = index_of([[1, 2]], 2**16 + 1)
    halves = np.array(parts[0], dtype=np.uint32).view(np.uint16).tolist()
    content = hashlib.blake2b(digest_size=16)
    content.update(np.array([len(halves) // 2, checksum(halves)], dtype=np.uint64).tobytes())
    assert scanned(wide, block(parts[:1], "uint32")).files == {"a": content.hexdigest()}


def test_a_merge_that_is_refused_names_up_to_three_files() -> None:
    index = index_of([[1, 2, 3, 4, 5]])
    parts = [scanned(index, block([[9] * (n + 1)]), file=name) for n, name in enumerate("abcd")]
    other = scanned(index, block([[1]]), file="e", min_length=5)
    for count, names in ((3, "a, b, c"), (4, r"a, b, c\.\.\.")):
        with pytest.raises(LingprobError, match=f"files {names} and e were scanned"):
            merge([merge(parts[:count]), other])


@pytest.mark.parametrize(
    ("tokens", "size", "length"),
    [(5, 2, 128), (31, 2, 128), (32, 2, 256), (63, 4, 256), (64, 3, 512), (70_000, 2, 2**17),
     (70_000, 3, 2**18), (300_000, 3, 2**18), (300_000, 4, 2**20)],
)  # fmt: skip
def test_filters_have_32_bits_a_token_up_to_a_limit(tokens: int, size: int, length: int) -> None:
    passages: Any = SimpleNamespace(
        tokens=np.zeros(tokens, int), offsets=np.array([0]), encode=lambda ids: ids.astype("u2")
    )
    assert len(streaming._gram_bitmap(passages, size)) == length


class Steps(Counter[str]):
    """How often the parts of a scan are called."""

    def of(self, index: StimulusIndex, document: list[int], min_length: int) -> dict[str, int]:
        """Return them for a document."""
        self.clear()
        scanned(index, block([document]), min_length=min_length)
        return dict(self)


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> Steps:
    """Count them; what is compiled calls nothing that could be counted."""
    found = Steps()

    def plain(name: str) -> Any:
        function = getattr(streaming, name)
        return getattr(function, "py_func", function)

    def counted(name: str) -> Any:
        function = plain(name)

        def called(*arguments: Any) -> Any:
            found[name] += 1
            return function(*arguments)

        return called

    for name in ("find_target", "_is_set", "_may_hold", "_advance"):
        monkeypatch.setattr(streaming, name, counted(name))
    for name in ("_scan_all", "_scan_filtered", "_count"):
        monkeypatch.setattr(streaming, name, plain(name))
    return found


@pytest.mark.parametrize(
    ("document", "lookups", "bits"),
    [
        ([1, 2, 3, 4], 3, 5),  # each token but the first goes on
        ([1, 3], 0, 1),  # no such pair
        ([1, 2, 6], 2, 3),  # such a pair, and no such three
        ([1, FOREIGN, 2], 0, 0),
    ],
)
def test_pairs_and_triples_that_no_passage_has_are_not_looked_up(
    steps: Steps, document: list[int], lookups: int, bits: int
) -> None:
    found = steps.of(index_of([[1, 2, 3, 4], [5, 2, 6]]), document, 1)
    assert found == {"_advance": len(document)} | {
        name: count for name, count in (("find_target", lookups), ("_is_set", bits)) if count
    }


@pytest.mark.parametrize("min_length", [4, 5, 6, 7, 8, 10, 11, 12, 20])
def test_most_of_a_corpus_is_not_read(steps: Steps, min_length: int) -> None:
    """One of every `step` sequences of four is looked for, and if it is there, one beside it."""
    index = index_of([list(range(7, 14))])
    step = min_length - 3
    side = min(4, step // 2)
    looks = len(range(step - 1, 100 - 3, step))
    common = {"_may_hold": looks, "_is_set": looks}
    assert steps.of(index, [FOREIGN] * 100, min_length) == common
    if not side:
        return
    # As long a run as has the sequence, but not that beside it: of `side` + 3 tokens.
    run = list(range(7, 7 + side + 3))
    for begin in (step - 1, step - side):
        document = ([FOREIGN] * begin + run + [FOREIGN] * 100)[:100]
        expected = {name: looks + 2 for name in common}
        assert steps.of(index, document, min_length) == expected


def test_what_may_hold_a_match_is_read_as_far_as_one_goes(
    steps: Steps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of twelve tokens or more: every ninth place is looked at, the first is 8."""
    index = index_of([list(range(1, 13))])
    # The match from 20 on holds place 26 and 22: read from 18 to 32, then from 33 on as before.
    document = [FOREIGN] * 20 + list(range(1, 13)) + [FOREIGN] * 20
    found = steps.of(index, document, 12)
    assert (found["_advance"], found["_may_hold"]) == (15, 3 + 1 + 1)
    # Eight tokens from 8 on, place 12 instead of 4: read from 0 to 16, then 25, 34 and 43.
    document = [FOREIGN] * 8 + list(range(1, 9)) + [FOREIGN] * 31
    found = steps.of(index, document, 12)
    assert (found["_advance"], found["_may_hold"]) == (17, 3 + 3)
    # A sequence that only seems to be there: read from 0 to 11 and from 12 to 23.
    monkeypatch.setattr(streaming, "_may_hold", lambda *_: True)
    assert steps.of(index, [FOREIGN] * 30, 12) == {"_advance": 24}


def test_the_graph_of_three_tokens() -> None:
    """'7 7 9': the root, what is open, and 7, after which come 7 and 9."""
    graph = graph_of([[7, 7, 9]])
    assert graph.text.tolist() == [7, 7, 9, 2**16 - 1]
    assert graph.lengths.tolist() == [0, OPEN, 1]
    assert graph.links.tolist() == [0, 0, 0]
    assert graph.first_edges.tolist() == [0, 2, 2, 4]
    assert graph.edges.tolist() == [[7, 0, 1, 2], [9, 2, OPEN, 1], [7, 1, OPEN, 1], [9, 2, OPEN, 1]]
    assert graph.counts.tolist() == [4, 1, 2]  # the root's at every token and at the end
    arrays_of_graph = (graph.text, graph.lengths, graph.links, graph.first_edges, graph.edges,
                       graph.counts)  # fmt: skip
    size = sum(array.nbytes for array in arrays_of_graph)
    assert graph.bytes_per_token == size / 4
    for empty in (graph_of([]), build_cdawg([], tokenizer_hash="t", vocabulary_size=300)):
        assert empty.bytes_per_token == 2 * 4 + 2 * 4 + 3 * 8 + 2 * 8
        assert len(empty.text) == 0


@pytest.mark.parametrize(
    ("vocabulary_size", "dtype", "mark"),
    [(2**16 - 1, "uint16", 2**16 - 1), (2**16, "uint32", 2**31 - 1)],
)
def test_the_largest_id_is_no_end_of_a_document(
    vocabulary_size: int, dtype: str, mark: int
) -> None:
    last = vocabulary_size - 1
    graph = graph_of([[1, last, 1]], vocabulary_size)
    assert graph.text.dtype == dtype
    assert graph.text.tolist() == [1, last, 1, mark]
    found, _ = graph.longest_matches(np.array([1, last, 1]), np.array([0, 3]), tokenizer_hash="t")
    assert found.tolist() == [1, 2, 3]


def test_a_separator_ends_a_document_of_a_graph_and_is_none_of_its_tokens() -> None:
    graph = build_cdawg([block([[1, 7, 2]])], tokenizer_hash="t", vocabulary_size=300, separator=7)
    assert graph.text.tolist() == [1, 2**16 - 1, 2, 2**16 - 1]
    found = graph.longest_matches(np.array([1, 7, 2]), np.array([0, 3]), tokenizer_hash="t")
    assert [values.tolist() for values in found] == [[1, 0, 1], [1, 0, 1]]


def test_as_many_tokens_as_a_graph_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cdawg.MAX_TOKENS == 2**30
    monkeypatch.setattr(cdawg, "MAX_TOKENS", 4)
    assert len(graph_of([[1, 2, 3]]).text) == 4
    with pytest.raises(LingprobError, match="has 5 tokens and separators"):
        graph_of([[1, 2], [3]])


@pytest.mark.parametrize("vocabulary_size", [60_000, 100_000])
@pytest.mark.parametrize("seed", range(3))
def test_nodes_of_many_continuations(seed: int, vocabulary_size: int) -> None:
    """From rows through hash tables of 24, 32 and 48, and as a node is parted in two.

    The first document ends where the others go on: that is one of the continuations.
    """
    generator = np.random.default_rng(seed)
    symbols = generator.choice(np.arange(9, vocabulary_size), 45, replace=False).tolist()
    documents = [[1, 2]] + [[1, 2, symbol] for symbol in symbols]
    documents += [[3, 2, symbol, 4] for symbol in symbols[:14]] + [symbols[::2], symbols[::-3]]
    for count in (13, 16, 17, 21, 28, 41, len(documents)):
        kept = documents[:count] + documents[-5:]
        passages = [*documents, *([before, 2, symbol] for before in (3, 4) for symbol in symbols)]
        graph = graph_of(kept, vocabulary_size)
        tokens = np.concatenate(arrays(passages))
        offsets = np.cumsum([0, *map(len, passages)])
        found = graph.longest_matches(tokens, offsets, tokenizer_hash="t")
        np.testing.assert_array_equal(found, slow_matches(passages, kept))
