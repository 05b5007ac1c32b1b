"""MORCELA: from sentence scores and ratings to the paper's numbers (Tjuatja et al. 2025)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pandas as pd

from lingprob.errors import refuse_rows
from lingprob.papers.morcela.units import groupings_of, units_of
from lingprob.regression.agreement import split_half
from lingprob.regression.decomposition import decompose
from lingprob.regression.linking import (
    MINIMUM_PER_FOLD,
    fit_linking_functions,
    resample_linking_functions,
)
from lingprob.schemas import SCHEMAS

logger = logging.getLogger(__name__)

# What linking functions are fitted to.
FITTED_COLUMNS = ("logprob", "unigram_logprob", "n_tokens", "rating")


def fit_model(
    model: str,
    datasets: Sequence[str],
    stimuli: Sequence[pd.DataFrame],
    sentence_scores: Sequence[pd.DataFrame],
    *,
    default_convention: tuple[str, str],
    cluster: str,
    keep_together: str,
    scale: str,
    **fitting: Any,
) -> pd.DataFrame:
    """Fit all linking functions of a model for each data set, BOS policy and unigram source.

    `default_convention` is the (BOS policy, unigram source) that figures show, `cluster` the unit
    that intervals resample and `keep_together` that which no fold parts (`units.UNITS`). `fitting`
    goes to `fit_linking_functions`: folds, repeats, bootstrap, seed. Returns a
    `linking_functions` table. Raises LingprobError if a sentence has no rating.
    (morcela, §3.4, Appendix C)
    """
    tables = []
    for dataset, items, scores in zip(datasets, stimuli, sentence_scores, strict=True):
        rated = rated_scores(dataset, items, scores)
        clusters = units_of(rated, cluster)
        kept = units_of(rated, keep_together, fitting["folds"] * MINIMUM_PER_FOLD)
        for (bos, unigrams), group in rated.groupby(["bos", "unigrams"], sort=False):
            logger.info("%s, %s: BOS policy %s, unigrams %s", model, dataset, bos, unigrams)
            fits = fit_linking_functions(
                *(group[name] for name in FITTED_COLUMNS),
                together=kept[1][group.index],
                clusters=clusters[1][group.index],
                **fitting,
            )
            tables.append(
                fits.assign(
                    model=model,
                    dataset=dataset,
                    rating_source=rating_source(items),
                    unigrams=unigrams,
                    bos=bos,
                    default_convention=(bos, unigrams) == default_convention,
                    cluster=clusters[0],
                    kept_together=kept[0],
                    scale=scale,
                )
            )
    return pd.concat(tables, ignore_index=True)[SCHEMAS["linking_functions"].names]


def decompose_model(
    model: str,
    datasets: Sequence[str],
    stimuli: Sequence[pd.DataFrame],
    sentence_scores: Sequence[pd.DataFrame],
    *,
    default_convention: tuple[str, str],
    bootstrap: int,
    seed: int,
    scale: str,
) -> pd.DataFrame:
    """Decompose r under a model's default convention between and within groups of sentences.

    Arguments as of `fit_model`; returns a `decomposition` table, without rows for data sets that
    have no pairs, paradigms or articles. Intervals resample the coarsest of these.
    """
    columns = SCHEMAS["decomposition"].names
    tables = [pd.DataFrame(columns=columns)]
    for dataset, items, scores in zip(datasets, stimuli, sentence_scores, strict=True):
        rated = default_scores(dataset, items, scores, default_convention)
        groupings = groupings_of(rated)
        if not groupings:
            logger.info("%s: no pairs, paradigms or articles to decompose r by", dataset)
            continue
        cluster = list(groupings)[-1]
        parts = decompose(
            *(rated[name] for name in FITTED_COLUMNS),
            groupings=groupings,
            clusters=groupings[cluster],
            bootstrap=bootstrap,
            seed=seed,
        )
        tables.append(
            parts.assign(
                model=model,
                dataset=dataset,
                rating_source=rating_source(items),
                bos=default_convention[0],
                unigrams=default_convention[1],
                cluster=cluster,
                scale=scale,
            )
        )
    return pd.concat(tables[1:] or tables, ignore_index=True)[columns]


def draw_parameters(
    model: str,
    datasets: Sequence[str],
    stimuli: Sequence[pd.DataFrame],
    sentence_scores: Sequence[pd.DataFrame],
    *,
    default_convention: tuple[str, str],
    cluster: str,
    keep_together: str,
    scale: str,
    **fitting: Any,
) -> pd.DataFrame:
    """Refit MORCELA under a model's default convention to resamples that all models share.

    Arguments as of `fit_model`; returns a `linking_draws` table, without rows for data sets of
    which the model has no unigrams.
    """
    columns = SCHEMAS["linking_draws"].names
    tables = [pd.DataFrame(columns=columns)]
    for dataset, items, scores in zip(datasets, stimuli, sentence_scores, strict=True):
        rated = default_scores(dataset, items, scores, default_convention)
        if rated["unigram_logprob"].isna().all():
            continue
        name, clusters = units_of(rated, cluster)
        kept = units_of(rated, keep_together, fitting["folds"] * MINIMUM_PER_FOLD)
        _, draws = resample_linking_functions(
            *(rated[name] for name in FITTED_COLUMNS),
            linking_functions=["morcela"],
            together=kept[1],
            clusters=clusters,
            **fitting,
        )
        about = {"model": model, "dataset": dataset, "rating_source": rating_source(items)}
        tables.append(draws.assign(**about, cluster=name, n=len(rated), scale=scale))
    return pd.concat(tables[1:] or tables, ignore_index=True)[columns]


def default_scores(
    dataset: str,
    stimuli: pd.DataFrame,
    scores: pd.DataFrame,
    default_convention: tuple[str, str],
) -> pd.DataFrame:
    """Return `rated_scores` under one BOS policy and unigram source."""
    bos, unigrams = default_convention
    chosen = scores[(scores["bos"] == bos) & (scores["unigrams"] == unigrams)]
    return rated_scores(dataset, stimuli, chosen)


def rated_scores(dataset: str, stimuli: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return sentence scores with what `stimuli` say of each sentence, in the order of `stimuli`.

    One order for all models gives them the same folds and resamples. Raises LingprobError if a
    sentence has no rating.
    """
    columns = ["item_id", "rating", "pair_id", "paradigm", "phenomenon"]
    about = stimuli[[name for name in columns if name in stimuli]]
    place = pd.Series(range(len(about)), index=about["item_id"])
    rated = scores.merge(about, on="item_id", how="left")
    refuse_rows(
        rated["rating"].isna(),
        "data set {dataset!r}, item {item_id!r}: no rating, and linking functions are fitted "
        "to ratings. Rate or drop it, or take the data set out of morcela.datasets.",
        rated,
        dataset=dataset,
    )
    order = rated["item_id"].map(place).argsort(kind="stable")
    return rated.iloc[order].reset_index(drop=True)


def correlate_participant_groups(
    datasets: Sequence[str],
    stimuli: Sequence[pd.DataFrame],
    ratings: Sequence[pd.DataFrame],
    *,
    seed: int,
    scale: str,
) -> pd.DataFrame:
    """Correlate two groups of participants, for each data set with single judgments.

    Returns an `intergroup_correlation` table. (morcela, §3.4)
    """
    columns = SCHEMAS["intergroup_correlation"].names
    tables = [pd.DataFrame(columns=columns)]
    for dataset, items, judgments in zip(datasets, stimuli, ratings, strict=True):
        if len(judgments):
            table = split_half(judgments, seed=seed)
            tables.append(
                table.assign(dataset=dataset, rating_source=rating_source(items), scale=scale)
            )
    return pd.concat(tables[1:] or tables, ignore_index=True)[columns]


def rating_source(stimuli: pd.DataFrame) -> str:
    """Return `simulated` if any rating of a data set is, else `human`."""
    return "simulated" if (stimuli["rating_source"] == "simulated").any() else "human"
