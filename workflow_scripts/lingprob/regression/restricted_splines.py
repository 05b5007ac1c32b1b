"""Restricted cubic splines: a predictor's line, and columns that bend it (Harrell 2015, §2.4.5).

A cubic between knots, a line beyond the outer ones, smooth throughout. The line is the first of its
columns, so that a regression on all of them holds the one on the line.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lingprob.errors import LingprobError

Array = NDArray[np.float64]
FEWEST, MOST = 3, 7  # knots
OUTER_SHARE = {3: 0.1, 7: 0.025}  # of values below the first knot and above the last
USUAL_OUTER_SHARE = 0.05


def spline_knots(values: ArrayLike, count: int, what: str) -> Array:
    """Return `count` knots at Harrell's quantiles of values (n,), (count,) in their unit.

    Raises LingprobError, which calls the values `what`, unless there are 3 to 7, all different.
    """
    if not FEWEST <= count <= MOST:
        raise LingprobError(
            f"reading.curve_knots is {count}; a curve has {FEWEST} to {MOST} knots."
        )
    outer = OUTER_SHARE.get(count, USUAL_OUTER_SHARE)
    knots = np.quantile(np.asarray(values, float), np.linspace(outer, 1 - outer, count))
    if not (np.diff(knots) > 0).all():
        raise LingprobError(
            f"{what}: too many equal values for {count} knots, which would stand at "
            f"{', '.join(f'{knot:.3g}' for knot in knots)}. Lower reading.curve_knots."
        )
    return knots


def bends(values: ArrayLike, knots: Array) -> Array:
    """Return the columns of the spline besides its line, (n, knots - 2), in the values' unit."""
    x = np.asarray(values, float)[:, None]
    first, before_last, last = knots[0], knots[-2], knots[-1]
    inner = knots[:-2]

    def cubed(knot: Array) -> Array:
        return np.maximum(x - knot, 0) ** 3

    gap = last - before_last
    ends = cubed(before_last) * (last - inner) - cubed(last) * (before_last - inner)
    return (cubed(inner) - ends / gap) / (last - first) ** 2
