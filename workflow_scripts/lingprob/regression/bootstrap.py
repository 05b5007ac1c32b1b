"""Bootstrap intervals of correlations, accuracies and areas under ROC curves, many draws at once.

Units are resampled with replacement (pairs, or paradigms with all that belongs to them). A resample
is a count for each unit, so that a statistic is a weighted one and nothing is copied.
"""

from __future__ import annotations

from collections.abc import Iterator

import numba
import numpy as np
from numpy.typing import NDArray

from lingprob.regression.linking import resample_counts

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
COUNTS_AT_ONCE = 2**22
TAILS = (0.025, 0.975)
FEWEST = 3
# A variance below this part of the mean square is rounding.
CONSTANT = 1e-14


def resamples(units: int, draws: int, seed: int) -> Iterator[Ints]:
    """Yield how often each unit occurs in each resample, (some draws, units) int each time."""
    generator = np.random.default_rng(seed)
    step = max(1, COUNTS_AT_ONCE // max(units, 1))
    for done in range(0, draws, step):
        yield resample_counts(units, min(step, draws - done), generator)


def correlation(x: Array, y: Array) -> float:
    """Return Pearson's r of two (n,) arrays; NaN for fewer than 3 rows or where one is constant."""
    if len(x) < FEWEST or is_constant(x) or is_constant(y):
        return np.nan
    return float(np.corrcoef(x, y)[0, 1])


def is_constant(values: Array) -> bool:
    """Tell whether values (n,) do not vary beyond rounding."""
    return bool(values.var() <= CONSTANT * (values**2).mean())


def correlation_interval(
    x: Array, y: Array, unit: Ints, *, draws: int, seed: int
) -> tuple[float, float]:
    """Return the 95% interval of Pearson's r when units are resampled.

    `unit`, (n,) int from 0, is the unit of each row. Draws in which a variable is constant are left
    out; (NaN, NaN) if none is left.
    """
    if np.isnan(correlation(x, y)):
        return np.nan, np.nan
    x, y = (x - x.mean()) / x.std(), (y - y.mean()) / y.std()
    columns = np.column_stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    by_unit = np.zeros((int(unit.max()) + 1, columns.shape[1]))
    np.add.at(by_unit, unit, columns)
    drawn = []
    for counts in resamples(len(by_unit), draws, seed):
        n, sx, sy, sxx, syy, sxy = (counts @ by_unit).T
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = (n * sxx - sx**2) * (n * syy - sy**2)
            drawn.append(np.where(spread > CONSTANT, (n * sxy - sx * sy) / np.sqrt(spread), np.nan))
    return interval(np.concatenate(drawn))


def mean_interval(values: Array, unit: Ints, *, draws: int, seed: int) -> tuple[float, float]:
    """Return the 95% interval of the mean of values (n,) when units are resampled."""
    ((low, high),) = mean_intervals(values[:, None], unit, draws=draws, seed=seed)
    return float(low), float(high)


def mean_intervals(values: Array, unit: Ints, *, draws: int, seed: int) -> Array:
    """Return the 95% interval, (k, 2), of the mean of each column of values (n, k).

    Units are resampled, the same ones for all columns; NaN for a column with a value missing.
    """
    by_unit = np.zeros((int(unit.max()) + 1, 1 + values.shape[1]))
    np.add.at(by_unit, unit, np.column_stack([np.ones(len(values)), values]))
    sums = np.concatenate(
        [counts @ by_unit for counts in resamples(len(by_unit), draws, seed)], axis=0
    )
    complete = np.isfinite(values).all(axis=0)
    means = np.where(complete, sums[:, 1:] / sums[:, :1], np.nan)
    return np.array([interval(column) for column in means.T])


def interval(drawn: Array) -> tuple[float, float]:
    """Return the percentile interval of the finite values, (NaN, NaN) if there is none."""
    finite = drawn[np.isfinite(drawn)]
    if not len(finite):
        return np.nan, np.nan
    low, high = np.quantile(finite, TAILS)
    return float(low), float(high)


def area_under_roc(scores: Array, positive: NDArray[np.bool_]) -> float:
    """Return the probability that a positive row scores above a negative one, ties counting half.

    NaN if there is one class only.
    """
    once = np.ones((len(scores), 1), dtype=np.int32)
    return float(_areas(once, np.arange(len(scores)), positive, *_sorted(scores, positive))[0])


def area_intervals(
    scores: Array, positive: NDArray[np.bool_], unit: Ints, *, draws: int, seed: int
) -> Array:
    """Return the 95% interval, (k, 2), of the area of each column of scores (n, k).

    Units are resampled, the same ones for all columns; NaN where there is one class only.
    """
    in_order = [_sorted(column, positive) for column in scores.T]
    drawn: list[list[Array]] = [[] for _ in in_order]
    for counts in resamples(int(unit.max()) + 1, draws, seed):
        by_unit = np.ascontiguousarray(counts.T, dtype=np.int32)
        for areas, (order, first_of_tie) in zip(drawn, in_order, strict=True):
            areas.append(_areas(by_unit, unit, positive, order, first_of_tie))
    return np.array([interval(np.concatenate(areas)) for areas in drawn])


def roc_curve(scores: Array, positive: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return false and true positive rates for every threshold, from (0, 0) to (1, 1).

    Rows of one score pass the threshold together.
    """
    order, first_of_tie = _sorted(scores, positive)
    ends = np.append(len(scores) - np.flatnonzero(first_of_tie)[::-1], [])
    descending = positive[order][::-1]
    rates = []
    for passing in (~descending, descending):
        counts = np.append(0, np.cumsum(passing))
        rates.append(counts[np.append(0, ends).astype(int)] / max(counts[-1], 1))
    return rates[0], rates[1]


def _sorted(scores: Array, positive: NDArray[np.bool_]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the order of scores (n,), negatives first where they tie, and each tie's first row."""
    order = np.lexsort((positive, scores))
    in_order = scores[order]
    return order, np.append(True, in_order[1:] != in_order[:-1])


@numba.njit(cache=True)
def _areas(
    counts: NDArray, unit: Ints, positive: NDArray, order: Ints, first_of_tie: NDArray
) -> Array:
    """Return the area for each column of `counts` (units, draws); `unit`, `positive` (n,) by row.

    Each positive counts twice the negatives below it and once those that are the same.
    """
    draws = counts.shape[1]
    below, tied, negatives, positives, twice = np.zeros((5, draws))
    for place in range(len(order)):
        row = order[place]
        if first_of_tie[place]:
            below += tied
            tied[:] = 0
        times = counts[unit[row]]
        if positive[row]:
            for draw in range(draws):
                twice[draw] += times[draw] * (2 * below[draw] + tied[draw])
                positives[draw] += times[draw]
        else:
            for draw in range(draws):
                tied[draw] += times[draw]
                negatives[draw] += times[draw]
    return np.where(
        positives * negatives > 0, twice / np.maximum(2 * positives * negatives, 1), np.nan
    )
