"""Compute the statistics that judge claims, each with its 95% interval.

The points of a trend (models, bins or lengths) are few, so intervals use Student's t.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lingprob.scorecard.verdicts import NOTHING, Estimate

CONFIDENCE = 0.95
FEWEST_DEGREES = 2  # residual degrees of freedom of a slope over models


def student(value: float, error: float, degrees: float, n: int, note: str = "") -> Estimate:
    """Return a value with its 95% interval by Student's t, from its standard error `error`."""
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, degrees) * error)
    return Estimate(value, value - reach, value + reach, int(n), note)


def slope_within(x: ArrayLike, y: ArrayLike, group: Sequence[object] | None = None) -> Estimate:
    """Return the slope of y on x within groups: one intercept per group, one slope for all.

    A single intercept would mix differences between groups into the slope. The slope is unknown
    with fewer than two residual degrees of freedom, or if x does not vary within groups.
    """
    points = np.column_stack([np.asarray(x, float), np.asarray(y, float)])
    known = np.isfinite(points).all(axis=1)
    points = points[known]
    groups = np.zeros(len(known)) if group is None else np.asarray(group, dtype=object)
    codes, names = pd.factorize(groups[known])
    degrees = len(points) - len(names) - 1
    if degrees < FEWEST_DEGREES:
        return NOTHING
    counts = np.bincount(codes)
    dx, dy = (one - (np.bincount(codes, one) / counts)[codes] for one in points.T)
    spread = float(dx @ dx)
    if spread < 1e-12 * max(1.0, float((points[:, 0] ** 2).sum())):
        return NOTHING
    slope = float(dx @ dy) / spread
    residual = float(((dy - slope * dx) ** 2).sum())
    error = np.sqrt(residual / degrees / spread)
    return student(slope, error, degrees, len(points), f"{len(points)} points")


def slopes_within(x: np.ndarray, y: np.ndarray, group: Sequence[object]) -> np.ndarray:
    """Return the slope of `slope_within` in each of many resamples.

    `x` and `y` have shape (resamples, points), without NaN, and `group` (points,).
    """
    codes, _ = pd.factorize(np.asarray(group, dtype=object))
    member = codes[:, None] == np.unique(codes)
    dx, dy = (one - (one @ member / member.sum(0)) @ member.T for one in (x, y))
    with np.errstate(divide="ignore", invalid="ignore"):
        return (dx * dy).sum(1) / (dx * dx).sum(1)


def widened(estimate: Estimate, draws: ArrayLike) -> Estimate:
    """Return an estimate whose interval also includes an independent error, the spread of `draws`.

    At each end the new error is the distance from the median to the percentile of the draws. Errors
    add as the root of the sum of squares. Fewer than two draws change nothing.
    """
    known = np.asarray(draws, float)
    known = known[np.isfinite(known)]
    if len(known) < 2 or not np.isfinite(estimate.value):
        return estimate
    tail = (1 - CONFIDENCE) / 2
    low, middle, high = np.quantile(known, [tail, 0.5, 1 - tail])
    below = np.hypot(estimate.value - estimate.low, middle - low)
    above = np.hypot(estimate.high - estimate.value, high - middle)
    return replace(estimate, low=estimate.value - below, high=estimate.value + above)


def slope_difference(
    x: ArrayLike, y: ArrayLike, state: Sequence[object], first: object, second: object
) -> Estimate:
    """Return the slope of y on x in the second state minus that in the first."""
    table = pd.DataFrame({"x": np.asarray(x, float), "y": np.asarray(y, float), "state": state})
    table = table[table["state"].isin([first, second])].dropna()
    degrees = len(table) - 4
    if degrees < FEWEST_DEGREES:
        return NOTHING
    later = (table["state"] == second).to_numpy(float)
    design = np.column_stack([np.ones(len(table)), later, table["x"], later * table["x"]])
    coefficients, _, rank, _ = np.linalg.lstsq(design, table["y"], rcond=None)
    if rank < 4:
        return NOTHING
    residual = table["y"] - design @ coefficients
    variance = float(residual @ residual) / degrees * np.linalg.inv(design.T @ design)[3, 3]
    value, n = float(coefficients[3]), len(table)
    return student(value, np.sqrt(variance), degrees, n, f"{n} points")


def mean_difference(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return the mean of paired differences, second minus first, over pairs without NaN."""
    differences = np.asarray(second, float) - np.asarray(first, float)
    differences = differences[np.isfinite(differences)]
    n = len(differences)
    if n < 2:
        return NOTHING
    error = differences.std(ddof=1) / np.sqrt(n)
    return student(float(differences.mean()), error, n - 1, n, f"{n} pairs")


def known_correlation(r: float, n: int, *, ranks: bool = False) -> Estimate:
    """Return a correlation of n points with its interval, if there are at least four points.

    The interval of Pearson's r is Fisher's. The interval of Spearman's rho (`ranks`) contains every
    rho that a test of Fisher's z does not reject, with the variance of Bonett & Wright (2000) at
    the tested rho (at 0, Fisher's variance).
    """
    if not np.isfinite(r):
        return NOTHING
    if n < 4:
        return Estimate(r, np.nan, np.nan, n, f"n = {n:,}")
    z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    reach = stats.norm.ppf((1 + CONFIDENCE) / 2) / np.sqrt(n - 3)
    low, high = z - reach, z + reach
    # Update the variance at each end until the ends no longer move.
    for _ in range(100 if ranks else 0):
        low, high = (
            z + side * reach * np.sqrt(1 + np.tanh(end) ** 2 / 2)
            for side, end in ((-1, low), (1, high))
        )
    return Estimate(r, float(np.tanh(low)), float(np.tanh(high)), n, f"n = {n:,}")


def combined(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Return a weighted sum of independent estimates (Zou & Donner 2008, MOVER).

    The interval is too wide if estimates are positively correlated and weights differ in sign, as
    for differences on the same pairs.
    """
    parts = [
        (w * one.value, *sorted((w * one.low, w * one.high)))
        for one, w in zip(estimates, weights, strict=True)
    ]
    value = sum(part for part, _, _ in parts)
    below = np.sqrt(sum((part - low) ** 2 for part, low, _ in parts))
    above = np.sqrt(sum((high - part) ** 2 for part, _, high in parts))
    n = min(one.n for one in estimates)
    return Estimate(float(value), float(value - below), float(value + above), n)
