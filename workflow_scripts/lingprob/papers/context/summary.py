"""All tables of Sinha et al. (2023) from the judgments of all models and data sets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from lingprob.context.names import MATCHED, MISMATCHED, NO_PREFIX, ORIGINAL, OWN, SHARED
from lingprob.context.prefixes import Tokenize
from lingprob.context.similarity import Bags, dependency_labels, prefix_overlaps, suite_overlaps
from lingprob.context.suites import with_suites
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


def summarise(
    judgments: pd.DataFrame,
    changed: pd.DataFrame,
    unprefixed: pd.DataFrame,
    stimuli: pd.DataFrame,
    prefixes: pd.DataFrame,
    perturbed_prefixes: pd.DataFrame,
    tokenize: Tokenize,
    *,
    primary: str,
    overlap_sentences: int,
    fewest_pairs: int,
    bootstrap: int,
    seed: int,
    scale: str,
) -> tuple[dict[str, pd.DataFrame], pd.DataFrame]:
    """Return the tables accuracy, regression, matrix, overlap, correlations, unprefixed; points.

    Args:
        judgments: `context_judgments` of all models and data sets, `changed` of the primary
            data set's perturbed prefixes and, where they are compared, shared ones.
        unprefixed: `context_unprefixed_judgments` of all models and data sets.
        stimuli, prefixes, perturbed_prefixes: tables of the primary data set.
        tokenize: the tokenizer whose tokens overlap.
        primary: the data set of the analyses that the paper does on BLiMP alone.
        overlap_sentences, fewest_pairs, bootstrap, seed, scale: as in config.yaml.
    """
    stimuli = with_suites(stimuli, primary)
    grown = accuracy_table(judgments, bootstrap, seed, fewest_pairs, scale)
    is_shared = changed["perturbation"] == SHARED
    perturbed, shared = (
        accuracy_table(with_unchanged(rows, judgments, name), bootstrap, seed, fewest_pairs, scale)
        for rows, name in ((changed[~is_shared], ORIGINAL), (changed[is_shared], OWN))
    )
    similarity = perturbed_prefixes.groupby("perturbation")["similarity"].mean()
    perturbations = perturbation_points(perturbed, similarity)
    matrix = matrix_table(judgments, fewest_pairs, scale)
    overlap, by_prefix = overlaps(
        stimuli, prefixes, tokenize, overlap_sentences, np.random.default_rng(seed)
    )
    overlap = overlap.assign(dataset=primary, scale=scale)[SCHEMAS["context_overlap"].names]
    of_primary = judgments[judgments["dataset"] == primary]
    correlations = [
        baseline_correlations(judgments, fewest_pairs, scale),
        overlap_correlations(of_primary, by_prefix, matrix, overlap, scale),
        perturbation_correlations(perturbations, scale),
    ]
    tables = {
        "accuracy": pd.concat([grown, perturbed, shared], ignore_index=True),
        "regression": regressions(judgments, scale),
        "matrix": matrix,
        "overlap": overlap,
        "correlations": pd.concat(correlations, ignore_index=True),
        "unprefixed": unprefixed_accuracy(unprefixed, bootstrap, seed, scale),
    }
    points = points_table(judgments, perturbations, fewest_pairs, scale)
    return tables, points


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


def overlaps(
    stimuli: pd.DataFrame,
    prefixes: pd.DataFrame,
    tokenize: Tokenize,
    sentences: int,
    rng: np.random.Generator,
) -> tuple[pd.DataFrame, dict[str, pd.DataFrame]]:
    """Return overlaps of suites, and of acceptable prefixes with their targets, by measure."""

    def tokens(texts: Sequence[str]) -> list[list[str]]:
        return [
            [text[start:end] for start, end in spans]
            for text, spans in zip(texts, tokenize(texts), strict=True)
        ]

    measures: dict[str, Bags] = {"token": tokens, "dependency": dependency_labels}
    shown = stimuli[stimuli["paradigm"].isin(prefixes["suite"])]
    acceptable = prefixes[prefixes["kind"].isin([MATCHED[0], MISMATCHED[0]])]
    between, by_prefix = [], {}
    for name, bags in measures.items():
        between.append(suite_overlaps(shown, bags, sentences, rng).assign(measure=name))
        by_prefix[name] = prefix_overlaps(acceptable, stimuli, bags)
    return pd.concat(between, ignore_index=True), by_prefix


def points_table(
    judgments: pd.DataFrame, perturbations: pd.DataFrame, fewest_pairs: int, scale: str
) -> pd.DataFrame:
    """Return a `context_points` table: what Figures 9, 10 and 11 scatter."""
    tables = [
        perturbations.rename(
            columns={"perturbation": "point", "similarity": "x", "delta": "y"}
        ).assign(analysis="perturbations")
    ]
    for kind in MATCHED:
        points = suite_points(judgments, kind, fewest_pairs).rename(
            columns={"suite": "point", "baseline": "x", "accuracy": "y"}
        )
        tables.append(points.assign(analysis="metric", kind=kind))
    table = pd.concat(tables, ignore_index=True).assign(scale=scale)
    return table[SCHEMAS["context_points"].names]
