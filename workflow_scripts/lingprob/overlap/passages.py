"""From counts per state to the longest overlap of every passage, and of every chunk of a corpus."""

# Compiled functions are typed by Numba.
# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
from numba import njit

from lingprob.errors import LingprobError
from lingprob.overlap.automaton import StimulusIndex
from lingprob.overlap.streaming import ScanResult

MAX_OVERLAP = 11  # tokens of a chunk that is free of leakage (leakage, §3.1)
CHUNKS_SELECTED = 10


def longest_matches(index: StimulusIndex, result: ScanResult) -> tuple[np.ndarray, np.ndarray]:
    """Return the longest match with the corpus that ends at every token of the passages.

    Args:
        index: the passages.
        result: of a scan, or several merged.

    Returns:
        Lengths in tokens, int32 (n_tokens,), and numbers of occurrences in the corpus, int64
        (n_tokens,); both 0 where the longest match is shorter than the result's `min_length`.

    Raises LingprobError if the result is of another index.
    """
    if result.index_digest != index.digest:
        raise LingprobError(
            "the overlap counts are of other passages or another tokenizer than the index. "
            "Delete the older of the two files and run again."
        )
    counts = np.zeros((len(index.nodes), 3), dtype=np.int64)
    counts[result.states, 0] = result.visits
    counts[result.states, 1] = result.longest
    counts[result.states, 2] = result.at_longest
    lengths, frequencies = _propagate(index.nodes, counts)
    lengths, frequencies = lengths[index.prefix_states], frequencies[index.prefix_states]
    known = lengths >= result.min_length
    return np.where(known, lengths, 0).astype(np.int32), np.where(known, frequencies, 0)


def passage_overlaps(
    index: StimulusIndex, lengths: np.ndarray, frequencies: np.ndarray
) -> pd.DataFrame:
    """Return the longest overlap of each passage, a row for every place where one ends.

    Args:
        index: the passages.
        lengths, frequencies: as `longest_matches` (or a CDAWG's queries) give them.

    Returns:
        Columns passage (number), passage_tokens, overlap_tokens, last_token (counted from 0 in
        the passage, as published; -1 without overlap) and frequency, all int64. A passage
        without overlap, or with none of the scan's `min_length`, has one row, with 0.
    """
    rows = []
    for passage, (start, end) in enumerate(zip(index.offsets, index.offsets[1:], strict=False)):
        longest = int(lengths[start:end].max(initial=0))
        places = np.flatnonzero(lengths[start:end] == longest) if longest else np.array([-1])
        for place in places.tolist():
            frequency = int(frequencies[start + place]) if longest else 0
            rows.append((passage, int(end - start), longest, place, frequency))
    columns = ["passage", "passage_tokens", "overlap_tokens", "last_token", "frequency"]
    return pd.DataFrame(rows, columns=columns).astype(np.int64)


def overlap_texts(
    index: StimulusIndex, overlaps: pd.DataFrame, decode: Callable[[list[int]], str]
) -> list[str]:
    """Return the text of each row of `passage_overlaps`, "" without an overlap.

    Args:
        index: the passages.
        overlaps: as `passage_overlaps` gives them.
        decode: token ids in, text out.
    """
    texts = []
    for row in overlaps.itertuples():
        last = int(index.offsets[row.passage]) + row.last_token
        ids = index.tokens[last + 1 - row.overlap_tokens : last + 1].tolist()
        texts.append(decode(ids) if row.overlap_tokens else "")
    return texts


def summarise_chunks(
    index: StimulusIndex,
    results: Mapping[str, ScanResult],
    decode: Callable[[list[int]], str] | None = None,
) -> pd.DataFrame:
    """Return each chunk's longest overlap with any passage.

    Args:
        index: the passages.
        results: each chunk's counts, of one file or of several merged, by the chunk's name.
        decode: token ids in, text out; without it `overlap_text` is empty.

    Returns:
        A row a chunk, in the order of `results`: chunk, n_tokens, overlap_tokens, passage and
        last_token (the first place of the longest overlap; -1 without any), frequency (the
        largest of its places), overlap_text. overlap_tokens is 0 below the scan's `min_length`.
    """
    rows = []
    for name, result in results.items():
        lengths, frequencies = longest_matches(index, result)
        longest = int(lengths.max(initial=0))
        if not longest:
            rows.append((name, result.n_tokens, 0, -1, -1, 0, ""))
            continue
        places = np.flatnonzero(lengths == longest)
        place = int(places[0])
        passage = int(np.searchsorted(index.offsets, place, side="right")) - 1
        ids = index.tokens[place - longest + 1 : place + 1].tolist()
        rows.append((
            name, result.n_tokens, longest, passage, place - int(index.offsets[passage]),
            int(frequencies[places].max()), decode(ids) if decode else "",
        ))  # fmt: skip
    columns = [
        "chunk", "n_tokens", "overlap_tokens", "passage", "last_token", "frequency",
        "overlap_text",
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)


def select_chunks(
    chunks: pd.DataFrame,
    *,
    min_length: int,
    seed: int,
    max_overlap: int = MAX_OVERLAP,
    chunks_selected: int = CHUNKS_SELECTED,
) -> pd.DataFrame:
    """Mark the chunks without a long overlap, and a seeded sample of them (leakage, §3.1).

    Args:
        chunks: as `summarise_chunks` gives them.
        min_length: of the scan; at most max_overlap + 1, or longer overlaps go unseen.
        seed: of the sample; the choice depends on nothing else but the chunks' names.
        max_overlap: longest overlap of a leakage-free chunk, tokens.
        chunks_selected: number of chunks to choose.

    Returns:
        The table with two columns more, bool: leakage_free and selected.

    Raises LingprobError if `min_length` is too large or there are too few leakage-free chunks.
    """
    if min_length > max_overlap + 1:
        raise LingprobError(
            f"the scan counted matches of {min_length} tokens or more, so overlaps of "
            f"{max_overlap + 1} would go unseen. Scan with min_length {max_overlap + 1} or less."
        )
    free = (chunks.overlap_tokens <= max_overlap).to_numpy()
    if free.sum() < chunks_selected:
        raise LingprobError(
            f"{int(free.sum())} of {len(chunks)} chunks overlap in at most {max_overlap} tokens, "
            f"but {chunks_selected} are to be chosen. Lower overlap.chunks_selected, raise "
            "overlap.max_overlap, or make the chunks smaller."
        )
    names = np.sort(chunks.chunk[free].to_numpy(dtype=str))
    chosen = np.random.default_rng(seed).choice(names, size=chunks_selected, replace=False)
    return chunks.assign(leakage_free=free, selected=chunks.chunk.isin(chosen).to_numpy())


@njit(cache=True)
def _propagate(nodes, counts):
    """Return each state's longest sequence that the corpus has, and its frequency.

    A state whose longer descendants were visited occurs in full, as often as they, and as it
    itself in full; else as far as it was visited; else as far as its suffix link.
    """
    n_states = len(nodes)
    below = np.zeros(n_states, np.int64)
    for state in range(n_states - 1, 0, -1):
        below[nodes[state, 1]] += below[state] + counts[state, 0]
    lengths = np.zeros(n_states, np.int32)
    frequencies = np.zeros(n_states, np.int64)
    for state in range(1, n_states):
        if below[state] > 0:
            lengths[state] = nodes[state, 0]
            frequencies[state] = below[state]
            if counts[state, 1] == nodes[state, 0]:
                frequencies[state] += counts[state, 2]
        elif counts[state, 0]:
            lengths[state] = counts[state, 1]
            frequencies[state] = counts[state, 2]
        else:
            link = nodes[state, 1]
            lengths[state] = lengths[link]
            frequencies[state] = frequencies[link]
    return lengths, frequencies
