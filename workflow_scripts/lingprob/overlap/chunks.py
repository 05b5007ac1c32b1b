"""Chunks of the corpus that overlap minimally with the passages (leakage, §3.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.overlap.automaton import StimulusIndex
from lingprob.overlap.passages import longest_matches
from lingprob.overlap.streaming import ScanResult

MAX_OVERLAP = 11  # tokens
CHUNKS_SELECTED = 10


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
