"""Permutation tests of paired differences: the names of two conditions swapped within each item."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
MOST_IN_FULL = 16  # items whose 2**15 ways of swapping are all gone through
SWAPS_AT_ONCE = 2**12
ROUNDING = 1e-9  # of a sum, relative to the absolute values that it is of


def swap_p_values(values: Array, first: NDArray, second: NDArray, seed: int) -> Array:
    """Return two-sided p-values of sums of paired differences, (pairs,).

    If two columns differ in nothing but their names, swapping both within any items changes their
    difference by chance alone. The p-value is the share of swaps whose summed difference is at
    least as far from 0 as the one found: of all swaps of up to 16 items, else of 2**15 random ones,
    the one found among them (Phipson & Smyth 2010).

    Args:
        values: (items, columns), in any unit; rows are independent of each other.
        first, second: columns of each pair, (pairs,) int.
        seed: of random swaps.
    """
    differences = np.abs(values[:, first] - values[:, second]).sum(axis=0)
    totals = values.sum(axis=0)
    least = np.abs(totals[first] - totals[second]) - ROUNDING * differences
    reached, swaps = np.zeros(len(first)), 0
    for signs in _swaps(len(values), seed):
        sums = signs @ values
        reached += (np.abs(sums[:, first] - sums[:, second]) >= least).sum(axis=0)
        swaps += len(signs)
    return reached / swaps


def _swaps(items: int, seed: int) -> Iterator[Array]:
    """Yield signs of items (-1 where swapped), some (swaps, items) each time; the first swaps none.

    A swap of the items that are left gives the opposite sum, so the first item is never swapped.
    """
    free = items - 1
    generator = np.random.default_rng(seed)
    count = 2 ** min(free, MOST_IN_FULL - 1)
    for begin in range(0, count, SWAPS_AT_ONCE):
        rows = np.arange(begin, min(begin + SWAPS_AT_ONCE, count))
        if items <= MOST_IN_FULL:
            swapped = rows[:, None] >> np.arange(free) & 1
        else:
            swapped = generator.integers(2, size=(len(rows), free)) * (rows > 0)[:, None]
        yield np.hstack([np.ones((len(rows), 1)), 1.0 - 2.0 * swapped])
