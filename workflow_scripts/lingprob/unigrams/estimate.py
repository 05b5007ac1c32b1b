"""From sums over a corpus or over generated text to smoothed unigram log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.tables import read_table


def read_unigrams(sources: Sequence[str], paths: Sequence[str]) -> dict[str, pd.Series]:
    """Read `unigrams` tables. Return log-probabilities (nats) by source, indexed by token id."""
    return {
        source: read_table(path, "unigrams").set_index("token_id")["logprob"]
        for source, path in zip(sources, paths, strict=True)
    }


def sums_table(sums: np.ndarray, sums_of_squares: np.ndarray | None = None) -> pd.DataFrame:
    """Return the `unigram_sums` table of arrays of shape (V,).

    Token counts of a corpus are their own sums of squares (each token is a draw of 0 or 1), so
    for them `sums_of_squares` is left out.
    """
    squares = sums if sums_of_squares is None else sums_of_squares
    return pd.DataFrame(
        {
            "token_id": np.arange(len(sums), dtype=np.int32),
            "sum": np.asarray(sums, dtype=np.float64),
            "sum_of_squares": np.asarray(squares, dtype=np.float64),
        }
    )


def merge_sums(frames: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Add up the `unigram_sums` tables of disjoint shards.

    Raises LingprobError if there is none, or if they are not of one vocabulary.
    """
    frames = list(frames)
    if not frames:
        raise LingprobError("no unigram sums to merge: there must be at least one shard.")
    merged = frames[0].copy()
    for number, frame in enumerate(frames[1:], start=1):
        if not np.array_equal(frame["token_id"], merged["token_id"]):
            raise LingprobError(
                f"unigram sums, shard {number}: {len(frame)} token ids that are not the "
                f"{len(merged)} of shard 0. Delete the shards of the older run and run again."
            )
        for column in ("sum", "sum_of_squares"):
            merged[column] += frame[column].to_numpy()
    return merged


def smoothed_logprobs(sums: pd.DataFrame, *, smoothing: float, total: int) -> pd.DataFrame:
    """Estimate unigram probabilities p = (c + a) / (N + a V) with c a token's sum, N all sums.

    `sums` is a merged `unigram_sums` table with V rows, `smoothing` is a, and `total` the number of
    independent draws behind the sums: generated sequences, or tokens of a corpus.

    Returns the `unigrams` table: `count` is c, `logprob` is ln p (nats), and `std_error` the
    standard error of `logprob` by the delta method, null for fewer than two draws. For a corpus it
    is a lower bound, because tokens within a document are not independent.

    Raises LingprobError if a token would get probability zero, or for sums that no run makes.
    """
    counts = sums["sum"].to_numpy()
    at_fault = ~np.isfinite(counts) | (counts < 0) | (counts + smoothing <= 0)
    if at_fault.any():
        row = int(at_fault.argmax())
        place = f"unigrams: token {sums['token_id'].iloc[row]}"
        raise LingprobError(
            f"{place} never occurs (nor do {at_fault.sum() - 1} others), and with smoothing "
            f"{smoothing} its log-probability would be minus infinity. Use a smoothing above 0, or "
            "more text."
            if counts[row] == 0
            else f"{place} has sum {counts[row]} and smoothing is {smoothing}. Neither may be "
            "negative or infinite. Delete the unigram sums and run again."
        )
    logprobs = np.log(counts + smoothing) - math.log(counts.sum() + smoothing * len(counts))
    std_errors = np.full(len(counts), np.nan)
    if total > 1:
        squares = sums["sum_of_squares"].to_numpy()
        deviations = np.maximum(squares - counts**2 / total, 0)
        std_errors = np.sqrt(deviations * total / (total - 1))
    return pd.DataFrame(
        {
            "token_id": sums["token_id"].to_numpy(),
            "count": counts,
            "std_error": std_errors / (counts + smoothing),
            "logprob": logprobs,
        }
    )
