"""Smoothed unigram log-probabilities from sums over a corpus or over generated text."""

import math
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.tables import read_table


def read_unigrams(sources: Sequence[str], paths: Sequence[str]) -> dict[str, pd.Series]:
    """Return the log-probabilities (nats, by token id) of `unigrams` tables, by unigram source."""
    return {
        source: read_table(path, "unigrams").set_index("token_id")["logprob"]
        for source, path in zip(sources, paths, strict=True)
    }


def sums_table(sums: np.ndarray, sums_of_squares: np.ndarray | None = None) -> pd.DataFrame:
    """Return a `unigram_sums` table of two arrays (V,). Squares of token counts are left out.

    Each token of a corpus is a draw of 0 or 1, which equals its square.
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
    """Return the sum of `unigram_sums` tables. Raises LingprobError for different token ids."""
    first, *others = frames
    merged = first.copy()
    for number, frame in enumerate(others, start=1):
        if not np.array_equal(frame["token_id"], merged["token_id"]):
            raise LingprobError(
                f"unigram sums: shards 0 and {number} have different token ids. Delete those of "
                "the older run and run again."
            )
        for column in ("sum", "sum_of_squares"):
            merged[column] += frame[column].to_numpy()
    return merged


def smoothed_logprobs(sums: pd.DataFrame, *, smoothing: float, total: int) -> pd.DataFrame:
    """Return the `unigrams` table with probabilities p = (c + a) / (N + a V).

    c is a token's sum in a `unigram_sums` table (column `count`), N the total of all sums, V the
    number of token ids, and a the smoothing. `logprob` is ln p (nats), and `std_error` its standard
    error by the delta method, null for fewer than two draws. `total` is the number of independent
    draws behind the sums (generated sequences, or tokens). For a corpus, the standard error is a
    lower bound, because tokens within a document are not independent.

    Raises LingprobError if a token would have probability zero.
    """
    counts = sums["sum"].to_numpy()
    at_fault = counts + smoothing <= 0
    if at_fault.any():
        raise LingprobError(
            f"unigrams: {at_fault.sum()} tokens, such as "
            f"{sums['token_id'].iloc[int(at_fault.argmax())]}, never occur, so that without "
            "smoothing their log-probability is minus infinity. Use a smoothing above 0."
        )
    logprobs = np.log(counts + smoothing) - math.log(counts.sum() + smoothing * len(counts))
    std_errors = np.full(len(counts), np.nan)
    if total > 1:
        squares = sums["sum_of_squares"].to_numpy()
        deviations = np.maximum(squares - counts**2 / total, 0)
        std_errors = np.sqrt(deviations * total / (total - 1))
    std_errors /= counts + smoothing
    return sums[["token_id"]].assign(count=counts, std_error=std_errors, logprob=logprobs)
