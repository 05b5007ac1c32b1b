"""The index of the passages: a suffix automaton, small enough to stay in the processor's cache.

A state represents all token sequences that end at the same places of the passages. It has the
length of its longest sequence, and a suffix link to the state of the next shorter sequences. States
are numbered by length, so that links lead to lower numbers and often visited states lie together.
"""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

import hashlib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import njit

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path

MANY = -2  # in nodes[:, 2]: the state's edges are in the hash table
NO_EDGE = -1
MULTIPLIER = 0x1E3779B97F4A7C15  # odd, for multiplicative hashing of 64-bit keys
HASH = np.uint64(MULTIPLIER)
TARGET_BITS = 24
MAX_TOKENS = 2**22  # numbers of states (at most two per token) must fit in 23 bits
MAX_NARROW = 2**16

Record = TypeVar("Record")


@dataclass(frozen=True, eq=False)
class PassageIndex:
    """A generalised suffix automaton over passages, made by `build_index`.

    tokens: the token ids of all passages one after another, int64 (n_tokens,).
    offsets: passage i is tokens[offsets[i]:offsets[i + 1]], int64 (n_passages + 1,).
    vocabulary: the distinct token ids in rising order, int64. The id at place i has the symbol
        i + 1, and all other ids have the symbol 0.
    tokenizer_hash: digest of the tokenizer, which a searched corpus must share.
    vocabulary_size: number of ids of the tokenizer.
    nodes: int32 (n_states, 4): length, suffix link, symbol of the only edge (-1 without an edge,
        -2 with several), and its target.
    slots: int64 hash table of the edges of states with several edges: state (23 bits), symbol
        (16) and target (24). 0 is empty.
    root_targets: int32 (n_symbols + 1,), the state of each one-token sequence.
    prefix_states: int32 (n_tokens,), the state of the part of a passage that ends at each token.
    """

    tokens: np.ndarray
    offsets: np.ndarray
    vocabulary: np.ndarray
    tokenizer_hash: str
    vocabulary_size: int
    nodes: np.ndarray
    slots: np.ndarray
    root_targets: np.ndarray
    prefix_states: np.ndarray

    @property
    def is_narrow(self) -> bool:
        """Return whether all token ids of the tokenizer fit in 16 bits."""
        return self.vocabulary_size <= MAX_NARROW

    @cached_property
    def digest(self) -> str:
        """Return a digest (32 hexadecimal digits) of the passages and the tokenizer."""
        content = hashlib.sha256(f"{self.tokenizer_hash} {self.vocabulary_size}".encode())
        content.update(self.offsets.tobytes())
        content.update(self.tokens.tobytes())
        return content.hexdigest()[:32]

    @cached_property
    def _symbol_of_id(self) -> np.ndarray:
        symbols = np.zeros(max(MAX_NARROW, self.vocabulary_size), dtype=np.uint16)
        symbols[self.vocabulary] = np.arange(1, len(self.vocabulary) + 1)
        return symbols

    @property
    def symbol_of_code(self) -> np.ndarray:
        """Return the symbol of each 16-bit code of `encode`, uint16 (65536,)."""
        return self._symbol_of_id if self.is_narrow else np.arange(MAX_NARROW, dtype=np.uint16)

    def encode(self, tokens: np.ndarray) -> np.ndarray:
        """Return token ids as 16-bit codes, uint16: the ids if they fit, or else their symbols."""
        check_ids(tokens, self.vocabulary_size, "the corpus")
        codes = tokens if self.is_narrow else self._symbol_of_id[tokens]
        # A read-only memory map would make Numba compile everything a second time.
        return np.require(codes, dtype=np.uint16, requirements=["C", "W"])

    def passage(self, number: int) -> np.ndarray:
        """Return the token ids of one passage."""
        return self.tokens[self.offsets[number] : self.offsets[number + 1]]


def build_index(
    passages: Sequence[np.ndarray], *, tokenizer_hash: str, vocabulary_size: int
) -> PassageIndex:
    """Return the index of passages, in which corpora are searched (leakage, §2.1).

    `passages` are token ids of one or more passages, integers (n_tokens,), which may be empty.
    Other arguments are those of PassageIndex.

    Raises LingprobError if ids lie outside the vocabulary, or if the passages have more than 4
    million tokens or 65,535 different ids.
    """
    offsets = np.cumsum([0, *map(len, passages)]).astype(np.int64)
    tokens = np.concatenate(passages).astype(np.int64)
    check_ids(tokens, vocabulary_size, "the passages")
    vocabulary, codes = np.unique(tokens, return_inverse=True)
    if len(tokens) > MAX_TOKENS or len(vocabulary) >= MAX_NARROW:
        raise LingprobError(
            f"the passages have {len(tokens)} tokens, {len(vocabulary)} of them different. An "
            f"index can have {MAX_TOKENS} and {MAX_NARROW - 1}. Split the passages."
        )
    symbols = (codes + 1).astype(np.int32)
    lengths, *graph = _build(symbols, offsets)
    order = np.argsort(lengths, kind="stable")
    nodes, slots, root_targets, states = _pack(lengths, order, *graph, len(vocabulary))
    return PassageIndex(
        tokens, offsets, vocabulary, tokenizer_hash, int(vocabulary_size),
        nodes, slots, root_targets, states,
    )  # fmt: skip


def save_arrays(record: Any, path: str | Path) -> None:
    """Write a dataclass whose fields are arrays, texts and integers to a .npz file, atomically."""
    content = {field.name: getattr(record, field.name) for field in fields(record)}
    with atomic_path(path) as temporary, open(temporary, "wb") as stream:
        np.savez_compressed(stream, allow_pickle=False, **content)


def load_arrays(kind: type[Record], path: str | Path) -> Record:
    """Return the object that `save_arrays` wrote. Raise LingprobError if it is not whole."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            content = {field.name: archive[field.name] for field in fields(kind)}  # type: ignore[arg-type]
        return kind(**{name: v if v.ndim else v.item() for name, v in content.items()})
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise LingprobError(
            f"{path}: not a whole file of {kind.__name__} ({error}). Delete it and run again."
        ) from error


def check_tokenizer(of_corpus: str, of_passages: str) -> None:
    """Raise LingprobError if the digests of the tokenizers of a corpus and of passages differ."""
    if of_corpus != of_passages:
        raise LingprobError(
            f"the corpus is tokenised with {of_corpus!r}, the passages with {of_passages!r}. "
            "Tokenise both with the same tokenizer."
        )


def check_ids(tokens: np.ndarray, vocabulary_size: int, where: str) -> None:
    """Raise LingprobError if token ids are not integers from 0 to `vocabulary_size` - 1."""
    if tokens.dtype.kind not in "ui":
        raise LingprobError(f"{where}: token ids are {tokens.dtype}, but must be integers.")
    if not len(tokens):
        return
    low, high = int(tokens.min()), int(tokens.max())
    if low < 0 or high >= vocabulary_size:
        raise LingprobError(
            f"{where}: token ids from {low} to {high}, but the tokenizer has {vocabulary_size}. "
            "The ids are of another tokenizer, or read with the wrong dtype (uint16 or uint32)."
        )


@njit(cache=True)
def find_target(nodes, slots, state, symbol):
    """Return the target of a state's edge for a symbol, or -1 without an edge.

    `root_targets` has the root's edges. State and symbol are uint64, because Numba checks whether
    signed indices are negative.
    """
    only = nodes[state, 2]
    if only == np.int64(symbol):
        return np.int64(nodes[state, 3])
    if only == MANY:
        key = (state << np.uint64(16)) | symbol
        mask = np.uint64(len(slots) - 1)
        place = ((key * HASH) >> np.uint64(24)) & mask
        slot = np.uint64(slots[place])
        while slot != 0:
            if slot >> np.uint64(TARGET_BITS) == key:
                return np.int64(slot & np.uint64((1 << TARGET_BITS) - 1))
            place = (place + np.uint64(1)) & mask
            slot = np.uint64(slots[place])
    return np.int64(-1)


@njit(cache=True)
def _find_edge(table, edges, state, symbol):
    """Return the number of a state's edge for a symbol, or -place - 1 for a free place."""
    mask = len(table) - 1
    key = (np.int64(state) << 16) | np.int64(symbol)
    place = ((key * MULTIPLIER) >> 24) & mask
    while table[place] >= 0:
        edge = table[place]
        if edges[edge, 0] == state and edges[edge, 1] == symbol:
            return edge
        place = (place + 1) & mask
    return -place - 1


@njit(cache=True)
def _add_edge(table, edges, heads, count, place, edge):
    """Add an edge (source, symbol, target) at a place that `_find_edge` returned."""
    state = edge[0]
    edges[count, 0], edges[count, 1], edges[count, 2] = edge
    edges[count, 3] = heads[state]
    heads[state] = count
    table[-place - 1] = count


@njit(cache=True)
def _build(symbols, offsets):
    """Return the automaton of passages, built symbol by symbol (Blumer et al. 1985).

    The results are the lengths and links of states, the edges, each state's first edge, and the
    states of prefixes.
    """
    n_tokens = len(symbols)
    room = 2 * n_tokens + 1  # the root, and at most two states per token
    lengths = np.zeros(room, np.int32)
    links = np.full(room, -1, np.int32)
    heads = np.full(room, -1, np.int64)
    edges = np.zeros((4 * n_tokens, 4), np.int64)  # source, symbol, target, next of source
    size = 16
    while size < 6 * n_tokens:
        size *= 2
    table = np.full(size, -1, np.int64)
    states = np.zeros(n_tokens, np.int32)
    n_states, n_edges = 1, 0
    for passage in range(len(offsets) - 1):
        last = 0
        for position in range(offsets[passage], offsets[passage + 1]):
            symbol = symbols[position]
            edge = _find_edge(table, edges, last, symbol)
            length = lengths[last] + 1
            if edge >= 0 and lengths[edges[edge, 2]] == length:
                last = edges[edge, 2]
                states[position] = last
                continue
            new, walker = -1, np.int64(last)
            if edge < 0:
                new = n_states
                n_states += 1
                lengths[new] = length
                while walker >= 0:
                    edge = _find_edge(table, edges, walker, symbol)
                    if edge >= 0:
                        break
                    _add_edge(table, edges, heads, n_edges, edge, (walker, symbol, new))
                    n_edges += 1
                    walker = np.int64(links[walker])
            link = 0
            if walker >= 0:
                old = edges[edge, 2]
                link = old
                if lengths[old] != lengths[walker] + 1:
                    link = n_states
                    n_states += 1
                    lengths[link] = lengths[walker] + 1
                    links[link] = links[old]
                    links[old] = link
                    copied = heads[old]
                    while copied >= 0:
                        place = _find_edge(table, edges, link, edges[copied, 1])
                        copy = (link, edges[copied, 1], edges[copied, 2])
                        _add_edge(table, edges, heads, n_edges, place, copy)
                        n_edges += 1
                        copied = edges[copied, 3]
                    while walker >= 0:
                        edge = _find_edge(table, edges, walker, symbol)
                        if edges[edge, 2] != old:
                            break
                        edges[edge, 2] = link
                        walker = np.int64(links[walker])
            if new >= 0:
                links[new] = link
                last = new
            else:
                last = link
            states[position] = last
    return lengths[:n_states], links, edges, heads, states


@njit(cache=True)
def _pack(lengths, order, links, edges, heads, states, n_symbols):
    """Return `nodes`, `slots`, `root_targets` and `prefix_states` of a `PassageIndex`.

    States are renumbered by their place in `order`.
    """
    n_states = len(lengths)
    rank = np.empty(n_states, np.int64)
    for i in range(n_states):
        rank[order[i]] = i
    nodes = np.full((n_states, 4), NO_EDGE, np.int32)
    n_hashed = 0
    for state in range(n_states):
        node = rank[state]
        nodes[node, 0] = lengths[state]
        nodes[node, 1] = rank[max(links[state], 0)]
        head = heads[state]
        if state > 0 and head >= 0:
            if edges[head, 3] < 0:
                nodes[node, 2], nodes[node, 3] = edges[head, 1], rank[edges[head, 2]]
            else:
                nodes[node, 2] = MANY
                while head >= 0:
                    n_hashed += 1
                    head = edges[head, 3]
    size = 16
    while size < 2 * n_hashed:
        size *= 2
    slots = np.zeros(size, np.int64)
    root_targets = np.zeros(n_symbols + 1, np.int32)
    for state in range(n_states):
        head = heads[state]
        hashed = nodes[rank[state], 2] == MANY
        while head >= 0 and (hashed or state == 0):
            symbol, target = edges[head, 1], rank[edges[head, 2]]
            if hashed:
                key = (rank[state] << 16) | symbol
                place = ((key * MULTIPLIER) >> 24) & (size - 1)
                while slots[place] != 0:
                    place = (place + 1) & (size - 1)
                slots[place] = (key << TARGET_BITS) | target
            else:
                root_targets[symbol] = target
            head = edges[head, 3]
    for position in range(len(states)):
        states[position] = rank[states[position]]
    return nodes, slots, root_targets, states
