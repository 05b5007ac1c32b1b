"""Statistics that claims are judged by, each with its 95% interval.

Points of a trend are models, bins or lengths: few, so intervals are Student's t's.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import stats

from lingprob.referee.verdicts import NOTHING, Estimate

CONFIDENCE = 0.95


def slope_within(x: ArrayLike, y: ArrayLike, group: Sequence[object] | None = None) -> Estimate:
    """Return the slope of y on x within groups: an intercept a group, one slope for all.

    Pooling groups of different levels would measure what lies between them instead. Unknown with
    fewer than three residual degrees of freedom or an x that does not vary within any group.
    """
    table = pd.DataFrame({"x": np.asarray(x, float), "y": np.asarray(y, float)})
    table["group"] = 0 if group is None else pd.factorize(np.asarray(group, dtype=object))[0]
    table = table.dropna()
    centred = table[["x", "y"]] - table.groupby("group")[["x", "y"]].transform("mean")
    spread = float((centred["x"] ** 2).sum())
    degrees = len(table) - table["group"].nunique() - 1
    if degrees < 1 or spread < 1e-12 * max(1.0, float((table["x"] ** 2).sum())):
        return NOTHING
    slope = float((centred["x"] * centred["y"]).sum() / spread)
    residual = float(((centred["y"] - slope * centred["x"]) ** 2).sum())
    error = np.sqrt(residual / degrees / spread)
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, degrees) * error
    return Estimate(slope, slope - reach, slope + reach, len(table), f"{len(table)} points")


def slope_difference(
    x: ArrayLike, y: ArrayLike, state: Sequence[object], first: object, second: object
) -> Estimate:
    """Return the slope of y on x in the second state less that in the first: their interaction."""
    table = pd.DataFrame({"x": np.asarray(x, float), "y": np.asarray(y, float), "state": state})
    table = table[table["state"].isin([first, second])].dropna()
    degrees = len(table) - 4
    if degrees < 1:
        return NOTHING
    later = (table["state"] == second).to_numpy(float)
    design = np.column_stack([np.ones(len(table)), later, table["x"], later * table["x"]])
    coefficients, _, rank, _ = np.linalg.lstsq(design, table["y"], rcond=None)
    if rank < 4:
        return NOTHING
    residual = table["y"] - design @ coefficients
    variance = float(residual @ residual) / degrees * np.linalg.inv(design.T @ design)[3, 3]
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, degrees) * np.sqrt(variance)
    value = float(coefficients[3])
    return Estimate(value, value - reach, value + reach, len(table), f"{len(table)} points")


def mean_difference(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Return the mean of paired differences, second less first."""
    differences = np.asarray(second, float) - np.asarray(first, float)
    differences = differences[np.isfinite(differences)]
    n = len(differences)
    if n < 2:
        return NOTHING
    value = float(differences.mean())
    reach = stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * differences.std(ddof=1) / np.sqrt(n)
    return Estimate(value, value - reach, value + reach, n, f"{n} pairs")


def pearson(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Return Pearson's r with Fisher's interval; unknown for fewer than four points."""
    return _correlation(np.asarray(x, float), np.asarray(y, float), 1.0)


def spearman(x: ArrayLike, y: ArrayLike) -> Estimate:
    """Return Spearman's rho with Fisher's interval, widened as Bonett & Wright (2000) have it."""
    ranks = [stats.rankdata(np.asarray(values, float)) for values in (x, y)]
    rho = _correlation(ranks[0], ranks[1], 1.0).value
    return _correlation(ranks[0], ranks[1], 1 + rho**2 / 2)


def _correlation(x: np.ndarray, y: np.ndarray, inflation: float) -> Estimate:
    n = len(x)
    if n < 4 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return NOTHING
    return _interval(float(np.corrcoef(x, y)[0, 1]), n, inflation)


def _interval(r: float, n: int, inflation: float) -> Estimate:
    z = np.arctanh(np.clip(r, -1 + 1e-12, 1 - 1e-12))
    reach = stats.norm.ppf((1 + CONFIDENCE) / 2) * np.sqrt(inflation / (n - 3))
    return Estimate(r, float(np.tanh(z - reach)), float(np.tanh(z + reach)), n, f"n = {n}")


def combined(estimates: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """Return a weighted sum of independent estimates (Zou & Donner 2008, MOVER).

    The interval is too wide where the estimates go up and down together and weights differ in
    sign, as with differences on the same pairs.
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


def known_correlation(r: float, n: int, *, ranks: bool = False) -> Estimate:
    """Return a correlation that a table has, with the interval of `pearson` or `spearman`.

    No interval for fewer than four points.
    """
    if not np.isfinite(r):
        return NOTHING
    if n < 4:
        return Estimate(r, np.nan, np.nan, n, f"n = {n}")
    return _interval(r, n, 1 + r**2 / 2 if ranks else 1.0)
