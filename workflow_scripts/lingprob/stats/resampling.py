"""Folds, bootstrap resamples and permutations, and the intervals and p-values that they give.

Units are resampled with replacement (pairs, or paradigms with all that belongs to them). A resample
is a count for each unit, so that a statistic is a weighted one and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
COUNTS_AT_ONCE = 2**22
DRAWS_AT_ONCE = 100
TAILS = (0.025, 0.975)
FEWEST = 3
# A variance below this part of the mean square is rounding.
CONSTANT = 1e-14
MOST_IN_FULL = 16  # items whose 2**15 ways of swapping are all gone through
SWAPS_AT_ONCE = 2**12
ROUNDING = 1e-9  # of a sum, relative to the absolute values that it is of


def fold_numbers(units: int, folds: int, repeats: int, generator: np.random.Generator) -> NDArray:
    """Return the fold of each unit in each shuffle, (repeats, units) int; folds count from 0.

    Fold sizes differ by at most one, the larger folds first, as in scikit-learn's KFold.
    """
    in_order = np.sort(np.arange(units) % folds)
    return generator.permuted(np.tile(in_order, (repeats, 1)), axis=1)


def resample_counts(units: int, draws: int, generator: np.random.Generator) -> NDArray:
    """Return how often each unit occurs in each bootstrap resample, (draws, units) int."""
    drawn = generator.integers(units, size=(draws, units))
    drawn += units * np.arange(draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=draws * units).reshape(draws, units)


def resamples(units: int, draws: int, seed: int) -> Iterator[Ints]:
    """Yield how often each unit occurs in each resample, (some draws, units) int each time."""
    generator = np.random.default_rng(seed)
    step = max(1, COUNTS_AT_ONCE // max(units, 1))
    for done in range(0, draws, step):
        yield resample_counts(units, min(step, draws - done), generator)


def tails(confidence: float) -> tuple[float, float]:
    """Return the two ends of a central interval as shares of the draws."""
    return (1 - confidence) / 2, (1 + confidence) / 2


def interval(drawn: Array, ends: tuple[float, float] = TAILS) -> tuple[float, float]:
    """Return the percentile interval of the finite values, (NaN, NaN) if there is none."""
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, ends)
    return float(low), float(high)


def correlation(x: Array, y: Array) -> float:
    """Return Pearson's r of two (n,) arrays; NaN for fewer than 3 rows or where one is constant."""
    if len(x) < FEWEST or is_constant(x) or is_constant(y):
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])


def is_constant(values: Array) -> bool:
    """Tell whether values (n,) do not vary beyond rounding."""
    return bool(values.var() <= CONSTANT * (values**2).mean())


def standardise(values: Array) -> Array:
    """Return values (n,) with mean 0 and standard deviation 1 (n in the denominator)."""
    return (values - values.mean()) / values.std()


def correlation_interval(
    x: Array, y: Array, unit: Ints, *, draws: int, seed: int
) -> tuple[float, float]:
    """Return the 95% interval of Pearson's r when units are resampled.

    `unit`, (n,) int from 0, is the unit of each row. Draws in which a variable is constant are left
    out; (NaN, NaN) if none is left.
    """
    if np.isnan(correlation(x, y)):
        return np.nan, np.nan
    x, y = standardise(x), standardise(y)
    columns = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    by_unit = np.zeros((int(unit.max()) + 1, columns.shape[1]))
    np.add.at(by_unit, unit, columns)
    drawn = []
    for counts in resamples(len(by_unit), draws, seed):
        n, sx, sy, sxx, syy, sxy = (counts @ by_unit).T
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = (n * sxx - sx**2) * (n * syy - sy**2)
            drawn.append(np.where(spread > CONSTANT, (n * sxy - sx * sy) / np.sqrt(spread), np.nan))
    return interval(np.clip(np.concatenate(drawn), -1, 1))  # rounding goes beyond


def mean_interval(
    values: Array, unit: Ints, *, draws: int, seed: int, weight: Array | None = None
) -> tuple[float, float]:
    """Return the 95% interval of the mean of values (n,), weighted or not; units are resampled."""
    ((low, high),) = mean_intervals(values[:, None], unit, draws=draws, seed=seed, weight=weight)
    return float(low), float(high)


def mean_intervals(
    values: Array, unit: Ints, *, draws: int, seed: int, weight: Array | None = None
) -> Array:
    """Return the 95% interval, (k, 2), of the mean of each column of values (n, k).

    Units are resampled, the same ones for all columns; NaN for a column with a value missing. Rows
    count as `weight`, (n,), says.
    """
    by_unit = np.zeros((int(unit.max()) + 1, 1 + values.shape[1]))
    weights = np.ones(len(values)) if weight is None else weight
    np.add.at(by_unit, unit, np.column_stack([weights, weights[:, None] * values]))
    sums = np.concatenate(
        [counts @ by_unit for counts in resamples(len(by_unit), draws, seed)], axis=0
    )
    complete = np.isfinite(values).all(axis=0)
    means = np.where(complete, sums[:, 1:] / sums[:, :1], np.nan)
    return np.array([interval(column) for column in means.T])


def resampled_sums(
    gains: np.ndarray, items: np.ndarray, draws: int, seed: int
) -> tuple[float, float]:
    """Return the 95% interval of the sum of `gains` over items drawn with replacement.

    Args:
        gains: shape (n,), in any unit; the model that they come from is not fitted again.
        items: shape (n,): the item (a sentence, a subject) that each gain belongs to.
        draws: number of draws.
        seed: of the draws.
    """
    codes, _ = pd.factorize(items)
    sums = np.bincount(codes, weights=gains)
    random = np.random.default_rng(seed)
    totals = []
    for first in range(0, draws, DRAWS_AT_ONCE):
        rows = min(DRAWS_AT_ONCE, draws - first)
        totals.append(sums[random.integers(len(sums), size=(rows, len(sums)))].sum(axis=1))
    return interval(np.concatenate(totals), tails(0.95))


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
