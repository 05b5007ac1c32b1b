"""The tables of Sinha et al. (2023) from the judgments of one model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from lingprob.context.names import MATCHED, NO_PREFIX, ORIGINAL, OWN, SHARED
from lingprob.context.responses import in_categories
from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import read_table
from lingprob.papers.context.analysis import accuracy_table, matrix_table, unprefixed_accuracy
from lingprob.papers.context.statistics import (
    baseline_correlations,
    overlap_correlations,
    perturbation_correlations,
    perturbation_points,
    regressions,
    suite_points,
)

Tables = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Settings:
    """What all tables are computed with.

    Args:
        fewest_pairs, bootstrap, seed, scale: as in config.yaml.
    """

    fewest_pairs: int
    bootstrap: int
    seed: int
    scale: str


def summarise_datasets(
    judgments: str | Path,
    unprefixed: pd.DataFrame,
    datasets: Sequence[str],
    overlap: pd.DataFrame,
    prefix_overlap: pd.DataFrame,
    settings: Settings,
) -> Tables:
    """Return the tables of `summarise` over data sets, which memory holds one by one.

    Args:
        judgments: file of a `context_judgments` table; only unchanged prefixes count.
        unprefixed: `context_unprefixed_judgments` table.
        datasets: their names.
        overlap, prefix_overlap: what `overlaps.overlaps` returns for one of them.
        settings: of all tables.
    """
    parts = []
    for dataset in datasets:
        rows = read_table(judgments, "context_judgments", where={"dataset": [dataset]})
        rows = in_categories(rows[rows["perturbation"].isna()].reset_index(drop=True))
        alone = unprefixed[unprefixed["dataset"] == dataset]
        parts.append(summarise(rows, alone, settings))
        if dataset in set(overlap["dataset"]):
            matrix, scale = parts[-1]["context_matrix"], settings.scale
            related = overlap_correlations(rows, prefix_overlap, matrix, overlap, scale)
            parts.append({"context_correlations": related})
    return together(parts)


def summarise(judgments: pd.DataFrame, unprefixed: pd.DataFrame, settings: Settings) -> Tables:
    """Return the `context_` tables of a model but overlaps: accuracy, regression and so on.

    Args:
        judgments: `context_judgments` after unchanged prefixes and without any.
        unprefixed: `context_unprefixed_judgments` of the same pairs.
        settings: of all tables.
    """
    given, fewest = settings, settings.fewest_pairs
    alone = unprefixed_accuracy(unprefixed, given.bootstrap, given.seed, given.scale)
    return {
        "context_accuracy": accuracy_table(judgments, **asdict(given)),
        "context_regression": regressions(judgments, given.scale),
        "context_matrix": matrix_table(judgments, fewest, given.scale),
        "context_correlations": baseline_correlations(judgments, fewest, given.scale),
        "context_unprefixed": alone,
        "context_points": metric_points(judgments, fewest, given.scale),
    }


def summarise_changed(
    judgments: pd.DataFrame, perturbed: pd.DataFrame, similarity: pd.Series, settings: Settings
) -> Tables:
    """Return the `context_` tables accuracy, correlations and points of changed prefixes.

    Args:
        judgments: `context_judgments` of one data set after unchanged prefixes, without any and,
            if they are compared, after shared ones.
        perturbed: `context_judgments` of the same after perturbed prefixes.
        similarity: mean F1 by perturbation of the perturbed prefixes to the original.
        settings: of all tables.
    """
    is_shared = judgments["perturbation"] == SHARED
    own, shared, perturbed = map(
        in_categories, (judgments[~is_shared], judgments[is_shared], perturbed)
    )
    accuracies = [
        accuracy_table(with_unchanged(rows, own, name), **asdict(settings))
        for rows, name in ((perturbed, ORIGINAL), (shared, OWN))
    ]
    points = perturbation_points(accuracies[0], similarity)
    scattered = points.rename(columns={"perturbation": "point", "similarity": "x", "delta": "y"})
    scattered = scattered.assign(analysis="perturbations", scale=settings.scale)
    return {
        "context_accuracy": pd.concat(accuracies, ignore_index=True),
        "context_correlations": perturbation_correlations(points, settings.scale),
        "context_points": scattered[SCHEMAS["context_points"].names],
    }


def together(parts: Sequence[Tables]) -> Tables:
    """Return tables of the same names below each other."""
    names = dict.fromkeys(name for part in parts for name in part)
    return {
        name: pd.concat([part[name] for part in parts if name in part], ignore_index=True)
        for name in names
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
