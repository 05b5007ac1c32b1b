"""The tables of Sinha et al. (2023) from the judgments of models and data sets."""

from __future__ import annotations

import pandas as pd

from lingprob.context.names import MATCHED, NO_PREFIX, ORIGINAL, OWN, SHARED
from lingprob.papers.context.analysis import accuracy_table, matrix_table, unprefixed_accuracy
from lingprob.papers.context.statistics import (
    baseline_correlations,
    overlap_correlations,
    perturbation_correlations,
    perturbation_points,
    regressions,
    suite_points,
)
from lingprob.schemas import SCHEMAS

Tables = dict[str, pd.DataFrame]


def summarise(
    judgments: pd.DataFrame,
    unprefixed: pd.DataFrame,
    *,
    fewest_pairs: int,
    bootstrap: int,
    seed: int,
    scale: str,
) -> Tables:
    """Return the tables accuracy, regression, matrix, correlations, unprefixed and points.

    Args:
        judgments: `context_judgments` of some models and data sets.
        unprefixed: `context_unprefixed_judgments` of the same.
        fewest_pairs, bootstrap, seed, scale: as in config.yaml.
    """
    return {
        "accuracy": accuracy_table(judgments, bootstrap, seed, fewest_pairs, scale),
        "regression": regressions(judgments, scale),
        "matrix": matrix_table(judgments, fewest_pairs, scale),
        "correlations": baseline_correlations(judgments, fewest_pairs, scale),
        "unprefixed": unprefixed_accuracy(unprefixed, bootstrap, seed, scale),
        "points": metric_points(judgments, fewest_pairs, scale),
    }


def summarise_primary(
    judgments: pd.DataFrame,
    changed: pd.DataFrame,
    similarity: pd.Series,
    matrix: pd.DataFrame,
    overlap: pd.DataFrame,
    prefix_overlap: pd.DataFrame,
    *,
    fewest_pairs: int,
    bootstrap: int,
    seed: int,
    scale: str,
) -> Tables:
    """Return rows of accuracy, correlations and points that the paper has of BLiMP alone.

    Args:
        judgments: `context_judgments` of some models and the primary data set, `changed` of its
            perturbed prefixes and, where they are compared, shared ones.
        similarity: mean F1 by perturbation of the perturbed prefixes to the original.
        matrix: `context_matrix` table of the judgments.
        overlap, prefix_overlap: what `overlaps.overlaps` returns for the data set.
        fewest_pairs, bootstrap, seed, scale: as in config.yaml.
    """
    is_shared = changed["perturbation"] == SHARED
    perturbed, shared = (
        accuracy_table(with_unchanged(rows, judgments, name), bootstrap, seed, fewest_pairs, scale)
        for rows, name in ((changed[~is_shared], ORIGINAL), (changed[is_shared], OWN))
    )
    points = perturbation_points(perturbed, similarity)
    correlations = [
        overlap_correlations(judgments, prefix_overlap, matrix, overlap, scale),
        perturbation_correlations(points, scale),
    ]
    scattered = points.rename(columns={"perturbation": "point", "similarity": "x", "delta": "y"})
    scattered = scattered.assign(analysis="perturbations", scale=scale)
    return {
        "accuracy": pd.concat([perturbed, shared], ignore_index=True),
        "correlations": pd.concat(correlations, ignore_index=True),
        "points": scattered[SCHEMAS["context_points"].names],
    }


def with_unchanged(changed: pd.DataFrame, judgments: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return judgments after changed prefixes with the same pairs' after their own, called `name`.

    Of the same kinds and lengths; those without a prefix come along.
    """
    same = (
        judgments["dataset"].isin(changed["dataset"])
        & judgments["pair_id"].isin(changed["pair_id"])
        & judgments["kind"].isin([*changed["kind"], NO_PREFIX])
        & judgments["length"].isin([0, *changed["length"]])
    )
    return pd.concat([judgments[same].assign(perturbation=name), changed], ignore_index=True)


def metric_points(judgments: pd.DataFrame, fewest_pairs: int, scale: str) -> pd.DataFrame:
    """Return a `context_points` table: what Figures 10 and 11 scatter."""
    tables = []
    for kind in MATCHED:
        points = suite_points(judgments, kind, fewest_pairs).rename(
            columns={"suite": "point", "baseline": "x", "accuracy": "y"}
        )
        tables.append(points.assign(analysis="metric", kind=kind, scale=scale))
    return pd.concat(tables, ignore_index=True)[SCHEMAS["context_points"].names]
