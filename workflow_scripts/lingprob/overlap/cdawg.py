"""A compacted directed acyclic word graph (CDAWG) of a corpus, which finds overlaps with texts."""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path, write_text
from lingprob.overlap import cdawg_build
from lingprob.overlap.automaton import check_ids, check_tokenizer
from lingprob.overlap.cdawg_build import EXTENT, LENGTH, ROOT, START, SYMBOL, TARGET
from lingprob.overlap.token_blocks import TokenBlock

MAX_TOKENS = 2**30  # positions and edges are numbered in 32 bits
ARRAYS = ("text", "lengths", "links", "first_edges", "edges", "counts")
FACTS = ("tokenizer_hash", "vocabulary_size", "n_words")


@dataclass(frozen=True, eq=False)
class Cdawg:
    """The CDAWG of a corpus: nodes, and edges whose labels are stretches of the corpus's text.

    text: the token ids of all documents. A symbol follows each (`mark_of`), which is no token id.
    lengths, links: length of the longest sequence, and suffix link, of each node, int32 (n_nodes,).
    first_edges: node i has edges[first_edges[i]:first_edges[i + 1]], int64 (n_nodes + 1,). edges:
    first symbol of the label, its start in the text, its length, and the target node, int32
        (n_edges, 4).
    counts: occurrences of each node's sequences in the corpus, int64 (n_nodes,).
    tokenizer_hash: digest of the tokenizer.
    vocabulary_size: number of ids of the tokenizer.
    n_words: number of words of the corpus between white space, or 0 if it consists of token ids.
    """

    text: np.ndarray
    lengths: np.ndarray
    links: np.ndarray
    first_edges: np.ndarray
    edges: np.ndarray
    counts: np.ndarray
    tokenizer_hash: str
    vocabulary_size: int
    n_words: int = 0

    def longest_matches(
        self, tokens: np.ndarray, offsets: np.ndarray, *, tokenizer_hash: str
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the longest sequence of the corpus that ends at each token of queries.

        Query i is tokens[offsets[i]:offsets[i + 1]] (leakage, §2.1). Returns the lengths in tokens,
        int32 (n_tokens,), and the frequencies, int64 (n_tokens,), both 0 without a match. Raises
        LingprobError for another tokenizer or ids outside its vocabulary.
        """
        check_tokenizer(self.tokenizer_hash, tokenizer_hash)
        check_ids(tokens, self.vocabulary_size, "the queries")
        tokens = np.ascontiguousarray(tokens, dtype=np.int64)
        arrays = [getattr(self, name) for name in ARRAYS]
        return _match(*arrays, tokens, np.asarray(offsets, dtype=np.int64))

    def save(self, directory: str | Path) -> None:
        """Write the arrays to .npy files in a directory, then other fields to cdawg.json."""
        facts: dict[str, Any] = {name: getattr(self, name) for name in FACTS}
        facts["bytes"] = {name: getattr(self, name).nbytes for name in ARRAYS}
        about = Path(directory, "cdawg.json")
        about.unlink(missing_ok=True)
        for name in ARRAYS:
            path = Path(directory, f"{name}.npy")
            with atomic_path(path) as temporary, open(temporary, "wb") as stream:
                np.save(stream, getattr(self, name))
        write_text(json.dumps(facts), about)


def build_cdawg(
    blocks: Iterable[TokenBlock], *, tokenizer_hash: str, vocabulary_size: int
) -> Cdawg:
    """Return the CDAWG of a corpus, built in memory (leakage, §2.1; Inenaga et al. 2005).

    Raises LingprobError for ids outside the vocabulary or more than 2**30 tokens.
    """
    dtype = np.dtype("uint16" if vocabulary_size < 2**16 else "uint32")
    mark, n_words, parts = mark_of(dtype), 0, [np.empty(0, dtype)]
    for block in blocks:
        check_ids(block.tokens, vocabulary_size, "the corpus")
        tokens = block.tokens.astype(dtype)
        parts.append(np.insert(tokens, block.offsets[1:], np.array(mark, dtype=dtype)))
        n_words += block.n_words
    text = np.concatenate(parts)
    del parts
    if len(text) > MAX_TOKENS:
        raise LingprobError(
            f"the corpus has {len(text)} tokens and ends of documents. A CDAWG can have "
            f"{MAX_TOKENS}. Build one for each part."
        )
    nodes, pool, ends = cdawg_build.build(text, mark)
    edges, firsts, counts = cdawg_build.pack(nodes, pool, ends, np.argsort(nodes[:, LENGTH]))
    return Cdawg(
        text, nodes[:, 0].copy(), nodes[:, 1].copy(), firsts, edges, counts,
        tokenizer_hash, vocabulary_size, n_words,
    )  # fmt: skip


def load_cdawg(directory: str | Path) -> Cdawg:
    """Return a saved graph, mapped into memory. Raise LingprobError if a file is incomplete."""
    directory = Path(directory)
    try:
        facts = json.loads((directory / "cdawg.json").read_text())
        arrays = {name: np.load(directory / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
        sizes = {name: array.nbytes for name, array in arrays.items()}
        if sizes != facts["bytes"]:
            raise ValueError("the sizes of its files are wrong")
        return Cdawg(**arrays, **{name: facts[name] for name in FACTS})
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise LingprobError(
            f"{directory}: not a whole CDAWG ({error}). Delete it and run again."
        ) from error


def mark_of(dtype: np.dtype) -> int:
    """Return the symbol that ends documents in a text of this dtype. Edges have int32 symbols."""
    return int(min(np.iinfo(dtype).max, np.iinfo(np.int32).max))


@njit(cache=True)
def _find(first_edges, edges, node, symbol):
    low, high = first_edges[node], first_edges[node + 1]
    while low < high:
        middle = (low + high) // 2
        if edges[middle, SYMBOL] < symbol:
            low = middle + 1
        else:
            high = middle
    if low < first_edges[node + 1] and edges[low, SYMBOL] == symbol:
        return low
    return np.int64(-1)


@njit(cache=True)
def _match(text, lengths, links, first_edges, edges, counts, tokens, offsets):
    """Return `longest_matches`. A search state is a node, a matched length, a place on an edge."""
    matched = np.zeros(len(tokens), np.int32)
    frequencies = np.zeros(len(tokens), np.int64)
    for query in range(len(offsets) - 1):
        node, at_node = np.int64(ROOT), np.int64(0)
        edge, count = np.int64(-1), np.int64(0)
        for position in range(offsets[query], offsets[query + 1]):
            token = tokens[position]
            while True:
                if count == 0:
                    edge = _find(first_edges, edges, node, token)
                    if edge >= 0:
                        break
                    if node == ROOT:
                        break
                elif text[edges[edge, START] + count] == token:
                    break
                first = np.int64(edges[edge, START])  # not used if count is 0
                if node == ROOT:
                    first, count = first + 1, count - 1
                else:
                    node = np.int64(links[node])
                    at_node = np.int64(lengths[node])
                while count > 0:
                    edge = _find(first_edges, edges, node, np.int64(text[first]))
                    extent = np.int64(edges[edge, EXTENT])
                    if extent > count:
                        break
                    node = np.int64(edges[edge, TARGET])
                    at_node += extent
                    first += extent
                    count -= extent
            if edge < 0:
                continue
            count += 1
            matched[position] = at_node + count
            frequencies[position] = counts[edges[edge, TARGET]]
            if edges[edge, EXTENT] == count:
                node = np.int64(edges[edge, TARGET])
                at_node += count
                count = np.int64(0)
    return matched, frequencies
