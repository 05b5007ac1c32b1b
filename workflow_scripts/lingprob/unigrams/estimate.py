"""From sums over a corpus or over generated text to smoothed unigram log-probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.tables import read_table


def read_unigrams(sources: Sequence[str], paths: Sequence[str]) -> dict[str, pd.Series]:
    """Read `unigrams` tables; return log-probabilities (nats) by source, indexed by token id."""
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

    Args:
        sums: a `unigram_sums` table, merged over all shards; V rows.
        smoothing: a, added to each token's sum.
        total: the number of independent draws behind the sums: generated sequences for the
            unigrahams estimator, tokens for a corpus.

    Returns:
        The `unigrams` table: `count` is c, `logprob` is ln p (nats), and `std_error` the
        standard error of `logprob` by the delta method, null for fewer than two draws. For a
        corpus it takes tokens as independent, which they are not within a document: a lower
        bound.

    Raises LingprobError if a token would get probability zero, or for sums that no run makes.
    """
    counts = sums["sum"].to_numpy()
    at_fault = ~np.isfinite(counts) | (counts < 0) | (counts + smoothing <= 0)
    if at_fault.any():
        raise _not_a_probability(sums, int(at_fault.argmax()), int(at_fault.sum()), smoothing)
    logprobs = np.log(counts + smoothing) - math.log(counts.sum() + smoothing * len(counts))
    if abs(np.exp(logprobs).sum() - 1) > 1e-9:
        raise LingprobError("unigram probabilities do not sum to one: the sums are damaged.")
    std_errors = _std_errors(counts, sums["sum_of_squares"].to_numpy(), total)
    return pd.DataFrame(
        {
            "token_id": sums["token_id"].to_numpy(),
            "count": counts,
            "std_error": std_errors / (counts + smoothing),
            "logprob": logprobs,
        }
    )


def _std_errors(sums: np.ndarray, sums_of_squares: np.ndarray, total: int) -> np.ndarray:
    """Standard errors, shape (V,), of sums over `total` independent draws."""
    if total < 2:
        return np.full(len(sums), np.nan)
    squared_deviations = np.maximum(sums_of_squares - sums**2 / total, 0)
    return np.sqrt(squared_deviations * total / (total - 1))


def _not_a_probability(sums: pd.DataFrame, row: int, rows: int, smoothing: float) -> LingprobError:
    token_id, value = sums["token_id"].iloc[row], sums["sum"].iloc[row]
    if value == 0:
        return LingprobError(
            f"unigrams: token {token_id} never occurs (nor do {rows - 1} others), and with "
            f"smoothing {smoothing} its log-probability would be minus infinity. Use a smoothing "
            "above 0, or more text."
        )
    return LingprobError(
        f"unigrams: token {token_id} has sum {value} and smoothing is {smoothing}; neither may "
        "be negative or infinite. Delete the unigram sums and run again."
    )
