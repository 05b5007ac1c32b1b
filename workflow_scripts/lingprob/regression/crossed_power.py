"""Power of a mean over targets after prefixes, from variance components.

An observation is the sum of a mean, effects of its suite, its target and its prefix, which are
independent, and a residual. A test asks whether the mean of one suite, or the mean over suites,
is 0, by Student's t. Where every target follows every prefix, the degrees of freedom are
Satterthwaite's (Westfall, Kenny & Judd 2014, Statistical power and optimal design in experiments
in which samples of participants respond to samples of stimuli); otherwise the test is exact for
normal effects.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, stats

Array = NDArray[np.float64]
# Each target after one of the prefixes, which are dealt out in turn; each after every prefix.
Design = Literal["dealt", "crossed"]
ALPHA, POWER = 0.05, 0.8


class Variances(NamedTuple):
    """Variance components: between suites, between a suite's targets, between prefixes before
    it, of what is left; of what prefixes of one source have in common, 0 where they have none."""

    suite: float
    target: float
    prefix: float
    residual: float
    source: float = 0.0


def suite_variance(
    of: Variances, n_prefixes: Array, n_targets: int, design: Design
) -> tuple[Array, Array]:
    """Return the variance of a suite's mean and its degrees of freedom, each (n,).

    Args:
        of: the components; `suite` and `source` are no part of it.
        n_prefixes: (n,), before this suite; NaN comes back for more than targets that are dealt.
        n_targets: of this suite.
        design: which prefixes a target follows.
    """
    p, n = np.asarray(n_prefixes, float), float(n_targets)
    if design == "dealt":
        each, more = np.divmod(n, p)
        squares = more * (each + 1) ** 2 + (p - more) * each**2
        variance = of.prefix * squares / n**2 + (of.target + of.residual) / n
        return np.where(p <= n, variance, np.nan), p - 1
    # Mean squares between prefixes, between targets and of what is left.
    prefixes, targets = n * of.prefix + of.residual, p * of.target + of.residual
    variance = (prefixes + targets - of.residual) / (n * p)
    with np.errstate(divide="ignore", invalid="ignore"):
        uncertain = prefixes**2 / (p - 1) + targets**2 / (n - 1)
        uncertain = uncertain + of.residual**2 / ((p - 1) * (n - 1))
        return variance, np.where(p > 1, (n * p * variance) ** 2 / uncertain, 0.0)


def mean_variance(
    of: Variances, n_prefixes: Array, n_targets: int, n_suites: int, design: Design
) -> tuple[Array, Array]:
    """Return the variance of the mean over suites and its degrees of freedom, each (n,).

    Suites are a sample, each with prefixes of its own, which are of as many sources; other
    arguments as of `suite_variance`.
    """
    apart = of._replace(prefix=of.prefix + of.source)
    of_one, _ = suite_variance(apart, n_prefixes, n_targets, design)
    return (of.suite + of_one) / n_suites, np.full_like(of_one, n_suites - 1)


def power(effect: float | Array, variance: Array, freedom: Array) -> Array:
    """Return the power (n,) of a two-sided t test at level .05; 0 without degrees of freedom."""
    variance, freedom = np.broadcast_arrays(variance, np.asarray(freedom, float))
    tested = (freedom > 0) & np.isfinite(variance)
    found = np.zeros(variance.shape)
    if tested.any():
        df = freedom[tested]
        with np.errstate(divide="ignore"):
            away = np.broadcast_to(effect, variance.shape)[tested] / np.sqrt(variance[tested])
        critical = stats.t.isf(ALPHA / 2, df)
        above, below = (stats.nct.sf(critical, df, sign * away) for sign in (1, -1))
        found[tested] = np.nan_to_num(above, nan=1.0) + np.nan_to_num(below)
    return found


def fewest(effect: float, numbers: Array, variance: Array, freedom: Array) -> float:
    """Return the smallest of growing `numbers` (n,) with a power of .8; infinity if none has."""
    enough = power(effect, variance, freedom) >= POWER
    return float(numbers[np.argmax(enough)]) if enough.any() else np.inf


def detectable(variance: float, freedom: float) -> float:
    """Return the smallest effect that is found with a power of .8; infinity if none can be."""
    if not freedom > 0 or not np.isfinite(variance):
        return np.inf
    error = np.sqrt(variance)

    def lacking(effect: float) -> float:
        return float(power(effect, np.array([variance]), np.array([freedom]))[0]) - POWER

    return float(optimize.brentq(lacking, 0.0, 100 * error)) if error else 0.0
