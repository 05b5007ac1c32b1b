"""Compute ROC curves, the areas under them, and the areas in many resamples at once."""

import numba
import numpy as np
from numpy.typing import NDArray

from lingprob.stats.resampling import resamples

Array = NDArray[np.float64]
Ints = NDArray[np.int64]


def area_under_roc(scores: Array, positive: NDArray[np.bool_], weight: Array) -> float:
    """Return the probability that a positive row scores above a negative one, ties counting half.

    Rows are drawn in proportion to `weight`, (n,). With one class it is NaN.
    """
    once, rows = np.ones((len(scores), 1)), np.arange(len(scores))
    return float(_areas(once, rows, weight, positive, *_sorted(scores, positive))[0])


def resampled_areas(
    scores: Array,
    positive: NDArray[np.bool_],
    unit: Ints,
    *,
    draws: int,
    seed: int,
    weight: Array,
) -> Array:
    """Return the area of each column of scores (n, k) in each resample of units, (k, draws)."""
    in_order = [_sorted(column, positive) for column in scores.T]
    drawn: list[list[Array]] = [[] for _ in in_order]
    for counts in resamples(int(unit.max()) + 1, draws, seed):
        by_unit = np.ascontiguousarray(counts.T, dtype=np.float64)
        for areas, (order, first_of_tie) in zip(drawn, in_order, strict=True):
            areas.append(_areas(by_unit, unit, weight, positive, order, first_of_tie))
    return np.stack([np.concatenate(areas) for areas in drawn])


def roc_curve(scores: Array, positive: NDArray[np.bool_], weight: Array) -> tuple[Array, Array]:
    """Return false and true positive rates for every threshold, from (0, 0) to (1, 1).

    Rows of equal score pass the threshold together. Each counts as often as `weight`, (n,), says.
    """
    order, first_of_tie = _sorted(scores, positive)
    ends = np.append(len(scores) - np.flatnonzero(first_of_tie)[::-1], [])
    descending = positive[order][::-1]
    weights = weight[order][::-1]
    rates = []
    for passing in (~descending, descending):
        counts = np.append(0.0, np.cumsum(weights * passing))
        rates.append(counts[np.append(0, ends).astype(int)] / (counts[-1] or 1.0))
    return rates[0], rates[1]


def _sorted(scores: Array, positive: NDArray[np.bool_]) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the order of scores (n,), negatives first among ties, and each tie's first row."""
    order = np.lexsort((positive, scores))
    in_order = scores[order]
    return order, np.append(True, in_order[1:] != in_order[:-1])


@numba.njit(cache=True)
def _areas(
    counts: Array,
    unit: Ints,
    weight: Array,
    positive: NDArray,
    order: Ints,
    first_of_tie: NDArray,
) -> Array:
    """Return the area for each column of `counts` (units, draws). Other arrays are (n,).

    Each positive counts every negative below it twice and every tied negative once.
    """
    draws = counts.shape[1]
    below, tied, negatives, positives, twice = np.zeros((5, draws))
    for place in range(len(order)):
        row = order[place]
        if first_of_tie[place]:
            below += tied
            tied[:] = 0
        times = counts[unit[row]]
        once = weight[row]
        if positive[row]:
            for draw in range(draws):
                twice[draw] += once * times[draw] * (2 * below[draw] + tied[draw])
                positives[draw] += once * times[draw]
        else:
            for draw in range(draws):
                tied[draw] += once * times[draw]
                negatives[draw] += once * times[draw]
    comparisons = positives * negatives
    return twice / np.where(comparisons > 0, 2 * comparisons, np.nan)
