"""How many prefixes a claim needs, from the variance components of changes (beyond Appendix D)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd

from lingprob.context.names import FROM_SUITE, KINDS
from lingprob.regression.crossed_power import (
    POWER,
    Array,
    Design,
    Variances,
    detectable,
    fewest,
    mean_variance,
    power,
    suite_variance,
)
from lingprob.regression.resampling import TAILS

# Effects that are looked for, by measure: changes in accuracy (shares of pairs), and in the
# log-probability of the acceptable sentence less that of the other (nats).
EFFECTS = {"accuracy": (0.05, 0.1, 0.2), "logprob_margin": (0.25, 0.5, 1.0)}
# The mean of one suite (in a matrix after prefixes of one other), and that over suites (after
# prefixes of several others).
LEVELS = ("suite", "all")
DESIGNS: tuple[Design, ...] = ("dealt", "crossed")
# Nobody draws more; as many as BLiMP's suites have pairs.
MOST_PREFIXES = 1000
NUMBERS = np.arange(1.0, MOST_PREFIXES + 1)


class Claim(NamedTuple):
    """What is to be found: an effect on a measure's mean, by prefixes before targets."""

    measure: str
    level: str
    design: Design
    effect: float


class Sample(NamedTuple):
    """What a run has of one kind: suites, targets of each, and prefixes before each."""

    n_suites: int
    n_targets: int
    n_prefixes: int


def samples(alone: pd.DataFrame, pairs_per_prefix: int, matrix_prefixes: int) -> dict[str, Sample]:
    """Return what a run has of each kind of prefixes.

    Args:
        alone: `context_judgments` without a prefix, of all pairs of the run.
        pairs_per_prefix, matrix_prefixes: as in config.yaml.
    """
    n_targets = int(alone.groupby("suite")["pair_id"].nunique().median())
    own = Sample(alone["suite"].nunique(), n_targets, -(-n_targets // pairs_per_prefix))
    return {**dict.fromkeys(KINDS, own), FROM_SUITE: own._replace(n_prefixes=matrix_prefixes)}


def needed_rows(
    found: Variances, again: list[Variances], measure: str, sample: Sample
) -> Iterator[dict[str, object]]:
    """Yield for each level, design and effect what the run's own prefixes find, and how many do."""
    # No more prefixes are dealt out than there are targets.
    own = min(sample.n_prefixes, sample.n_targets, MOST_PREFIXES) - 1
    for level, design in itertools.product(LEVELS, DESIGNS):
        variance, freedom = uncertainty(found, sample, level, design)
        in_draws = [uncertainty(one, sample, level, design) for one in again]
        for effect in EFFECTS[measure]:
            claim = Claim(measure, level, design, effect)
            numbers = [fewest(effect, NUMBERS, *of_draw) for of_draw in in_draws]
            needed = (fewest(effect, NUMBERS, variance, freedom), *ends(numbers))
            yield {
                **claim._asdict(),
                **sample._asdict(),
                "std_error": np.sqrt(variance[own]),
                "power": power(effect, variance, freedom)[own],
                "detectable": detectable(variance[own], freedom[own]),
                **dict(zip(("needed", "needed_low", "needed_high"), needed, strict=True)),
                "advice": advice(claim, sample, needed, found.suite),
            }


def uncertainty(of: Variances, sample: Sample, level: str, design: Design) -> tuple[Array, Array]:
    """Return variance and degrees of freedom of a mean by number of prefixes, each (1000,)."""
    if level == "suite":
        return suite_variance(of, NUMBERS, sample.n_targets, design)
    return mean_variance(of, NUMBERS, sample.n_targets, sample.n_suites, design)


def ends(values: list[float]) -> tuple[float, float]:
    """Return the 95% interval of draws, which may be infinite; NaN without any."""
    if not values:
        return np.nan, np.nan
    low, high = np.quantile(values, TAILS, method="inverted_cdf")
    return float(low), float(high)


def advice(
    claim: Claim, sample: Sample, needed: tuple[float, float, float], between_suites: float
) -> str:
    """Return in a sentence how many prefixes find an effect, or what is needed where none do."""
    mean = f"over {sample.n_suites} suites" if claim.level == "all" else "of a suite"
    size = size_of(claim.measure, claim.effect)
    effect = f"{size} in the mean {mean} ({sample.n_targets} targets each, power .8)"
    if np.isfinite(needed[0]):
        low, high = (f"{end:.0f}" if np.isfinite(end) else "none" for end in needed[1:])
        prefixes = "prefix" if needed[0] == 1 else "prefixes"
        after = "one of them" if claim.design == "dealt" else "all of them"
        return (
            f"To find {effect}: {needed[0]:.0f} {prefixes} a suite (95% interval {low} to {high}), "
            f"each target after {after}."
        )
    return f"No number of prefixes finds {effect}: more {lacking(claim, sample, between_suites)}."


def size_of(measure: str, effect: float) -> str:
    """Return an effect on a measure in its unit."""
    return f"{100 * effect:g} points" if measure == "accuracy" else f"{effect:g} nats"


def lacking(claim: Claim, sample: Sample, between_suites: float) -> str:
    """Return what there must be more of where no number of prefixes is enough."""
    if claim.level == "suite":
        return "targets"
    floor, freedom = np.array([between_suites / sample.n_suites]), np.array([sample.n_suites - 1])
    found = power(claim.effect, floor, freedom)[0] >= POWER
    return "targets" if found else "suites"
