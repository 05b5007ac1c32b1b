"""Accuracy by dose, place and distance of unacceptable sentences, and under controls (beyond §5).

Every contrast is of the same pairs: a value a pair, then the mean over pairs, with an interval of
suites resampled with all their pairs (of pairs where there is one suite).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pandas as pd

from lingprob.context.conditions import (
    ACCEPTABLE,
    CONTROLS,
    DISTANCE,
    DOSE,
    DOSES,
    EARLY,
    LATE,
    NONE_AT_ALL,
    PLACE,
    THROUGHOUT,
    UNACCEPTABLE,
    level_of,
)
from lingprob.context.responses import with_baseline
from lingprob.papers.context.analysis import clusters, summary
from lingprob.regression.ratios import fieller
from lingprob.regression.resampling import mean_interval
from lingprob.schemas import SCHEMAS

# A condition at one length: its kind, level and length in tokens.
Cell = tuple[str, str, int]
Weights = Mapping[Cell, float]


def composition_tables(
    judgments: pd.DataFrame,
    similarity: pd.Series,
    *,
    varied_tokens: int,
    bootstrap: int,
    seed: int,
    scale: str,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a `context_composition` and a `context_contrasts` table.

    Args:
        judgments: `context_judgments` after composed prefixes, and of the same models and data set
            without a prefix.
        similarity: of the composed prefixes, by prefix id.
        varied_tokens: the length of those prefixes whose composition is varied, tokens.
        bootstrap: draws behind each interval.
        seed: of the draws.
        scale: of the run.
    """
    prefixed = with_baseline(judgments)
    # Others go on beyond the length that they are compared at by a sentence or two at most.
    goes_on = (prefixed["kind"] == DISTANCE) | prefixed["perturbation"].isin(
        [NONE_AT_ALL, THROUGHOUT]
    )
    prefixed = prefixed[goes_on | (prefixed["length"] <= varied_tokens)]
    prefixed = prefixed.assign(similarity=prefixed["prefix_id"].map(similarity))
    rows, contrasts = [], []
    by = ["model", "dataset", "kind", "perturbation", "length"]
    for values, group in prefixed.groupby(by, sort=False):
        numbers = summary(group, bootstrap, seed) | {"similarity": group["similarity"].mean()}
        rows.append({**dict(zip(by, values, strict=True)), **numbers})
    for (model, dataset), group in prefixed.groupby(["model", "dataset"], sort=False):
        found = contrast_rows(group, varied_tokens, bootstrap, seed)
        contrasts += [{"model": model, "dataset": dataset, **row} for row in found]
    composition = pd.DataFrame(rows).rename(columns={"perturbation": "level"}).assign(scale=scale)
    bounded = pd.DataFrame(contrasts).replace([np.inf, -np.inf], np.nan)
    return (
        composition[SCHEMAS["context_composition"].names],
        bounded.assign(scale=scale)[SCHEMAS["context_contrasts"].names],
    )


def contrast_rows(
    judged: pd.DataFrame, varied_tokens: int, bootstrap: int, seed: int
) -> Iterator[dict[str, object]]:
    """Yield the contrasts of one model and data set whose conditions there are.

    Those of accuracies are in shares of pairs. `acceptability` is what acceptable prefixes leave
    right less what unacceptable ones do; `kept` is the part of it that a control has, by Fieller's
    theorem: its interval is infinite where there may be no effect to keep a part of.
    """
    wide = judged.astype({"correct": float}).pivot_table(
        index=["suite", "pair_id"], columns=["kind", "perturbation", "length"], values="correct"
    )
    lengths = sorted({int(length) for _, _, length in wide.columns})
    for contrast, kind, length, weights in contrasts(lengths, varied_tokens):
        if not set(weights) <= set(wide.columns):
            continue
        values = of_pairs(wide, weights)
        of_suites = clusters(values.index.to_frame())
        low, high = mean_interval(values.to_numpy(), of_suites, draws=bootstrap, seed=seed)
        yield described(contrast, kind, length, values, (float(values.mean()), low, high))
    whole = acceptability(DOSE, varied_tokens)
    for control in CONTROLS:
        weights = acceptability(control, varied_tokens)
        if set(weights) | set(whole) <= set(wide.columns):
            both = pd.concat([of_pairs(wide, weights), of_pairs(wide, whole)], axis=1).dropna()
            yield described("kept", control, varied_tokens, both, kept(both))


def described(
    contrast: str,
    kind: str,
    length: int,
    values: pd.DataFrame | pd.Series,
    estimated: tuple[float, float, float],
) -> dict[str, object]:
    """Return a row: the contrast, its estimate with its interval, and what it is of."""
    return {
        "contrast": contrast,
        "kind": kind,
        "length": length,
        **dict(zip(("estimate", "estimate_low", "estimate_high"), estimated, strict=True)),
        "n_pairs": len(values),
        "n_suites": values.index.get_level_values("suite").nunique(),
    }


def acceptability(kind: str, length: int) -> dict[Cell, float]:
    """Return the weights of acceptable less unacceptable prefixes of one kind and length."""
    levels = (NONE_AT_ALL, THROUGHOUT) if kind == DOSE else (ACCEPTABLE, UNACCEPTABLE)
    return {(kind, levels[0], length): 1.0, (kind, levels[1], length): -1.0}


def less(one: Weights, other: Weights) -> dict[Cell, float]:
    """Return the weights of one contrast less another."""
    cells = dict.fromkeys([*one, *other])
    return {cell: one.get(cell, 0.0) - other.get(cell, 0.0) for cell in cells}


def contrasts(
    lengths: Sequence[int], varied_tokens: int
) -> Iterator[tuple[str, str, int, dict[Cell, float]]]:
    """Yield name, kind, length and weights of all contrasts that are weighted sums.

    `slope`: change in accuracy from dose 0 to 1, least squares over the doses; `bend`: by how much
    more the first half of the dose lowers accuracy than the second; `recency`: late less early;
    `growth` and `fading`: acceptability at the longest length less at the varied one, and at the
    shortest distance less at the longest; `loss`: what of it a control does not have.
    """
    doses = [level_of(dose) for dose in DOSES]
    spread = np.array(DOSES) - np.mean(DOSES)
    slope = dict(zip(doses, spread / (spread @ spread), strict=True))
    bend = {level_of(0.0): 1.0, level_of(0.5): -2.0, level_of(1.0): 1.0}
    for name, weights in (("slope", slope), ("bend", bend)):
        yield (
            name,
            DOSE,
            varied_tokens,
            {(DOSE, level, varied_tokens): float(weight) for level, weight in weights.items()},
        )
    late_less_early = {(PLACE, LATE, varied_tokens): 1.0, (PLACE, EARLY, varied_tokens): -1.0}
    yield "recency", PLACE, varied_tokens, late_less_early
    for kind in (DOSE, DISTANCE):
        for length in lengths:
            yield "acceptability", kind, length, acceptability(kind, length)
    longest = lengths[-1]
    grown = less(acceptability(DOSE, longest), acceptability(DOSE, varied_tokens))
    yield "growth", DOSE, longest, grown
    faded = less(acceptability(DISTANCE, lengths[0]), acceptability(DISTANCE, longest))
    yield "fading", DISTANCE, longest, faded
    for control in CONTROLS:
        own = acceptability(control, varied_tokens)
        yield "acceptability", control, varied_tokens, own
        yield "loss", control, varied_tokens, less(acceptability(DOSE, varied_tokens), own)


def of_pairs(wide: pd.DataFrame, weights: Weights) -> pd.Series:
    """Return a contrast of each pair that has all its conditions."""
    table = wide[list(weights)].dropna()
    return pd.Series(table.to_numpy() @ np.array(list(weights.values())), index=table.index)


def kept(both: pd.DataFrame) -> tuple[float, float, float]:
    """Return the ratio of two means over pairs and its interval, errors by suites.

    The covariance of the means is the linearised one of totals of suites, of pairs where there is
    one suite; NaN ends for one pair.
    """
    means = both.mean().to_numpy()
    by = clusters(both.index.to_frame())
    count = int(by.max()) + 1
    if count < 2 or means[1] == 0:
        return (float(means[0] / means[1]) if means[1] else np.nan), np.nan, np.nan
    totals = np.zeros((count, 2))
    np.add.at(totals, by, both.to_numpy() - means)
    covariance = count / (count - 1) * totals.T @ totals / len(both) ** 2
    return fieller(means, covariance, count - 1)
