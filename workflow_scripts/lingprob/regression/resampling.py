"""Intervals of sums over items that are drawn again."""

from __future__ import annotations

import numpy as np
import pandas as pd

DRAWS_AT_ONCE = 100


def resampled_sums(
    gains: np.ndarray, items: np.ndarray, draws: int, seed: int, level: float = 0.95
) -> tuple[float, float]:
    """Return the interval of the sum of `gains` over items drawn with replacement.

    Args:
        gains: shape (n,), in any unit; the model that they come from is not fitted again.
        items: shape (n,): the item (a sentence, a subject) that each gain belongs to.
        draws: number of draws.
        seed: of the draws.
        level: share of the draws between the two ends.
    """
    codes, _ = pd.factorize(items)
    sums = np.bincount(codes, weights=gains)
    random = np.random.default_rng(seed)
    totals = []
    for first in range(0, draws, DRAWS_AT_ONCE):
        rows = min(DRAWS_AT_ONCE, draws - first)
        totals.append(sums[random.integers(len(sums), size=(rows, len(sums)))].sum(axis=1))
    low, high = np.quantile(np.concatenate(totals), [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
