"""MORCELA: from sentence scores and ratings to the paper's numbers (Tjuatja et al. 2025)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from lingprob.papers.morcela.rated import (
    Convention,
    DataSet,
    rated_scores,
    rating_source,
    under,
)
from lingprob.papers.morcela.units import units_of
from lingprob.regression.agreement import split_half
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
    given: Mapping[str, DataSet],
    *,
    default_convention: Convention,
    cluster: str,
    keep_together: str,
    scale: str,
    **fitting: Any,
) -> pd.DataFrame:
    """Fit all linking functions of a model for each data set, BOS policy and unigram source.

    Args:
        model: its name.
        given: rated data sets with the model's scores, by name.
        default_convention: the one that figures show.
        cluster, keep_together: the unit that intervals resample, and that which no fold parts
            (`units.UNITS`).
        scale: of the run.
        fitting: folds, repeats, bootstrap and seed of `fit_linking_functions`.

    Returns a `linking_functions` table. Raises LingprobError if a sentence has no rating.
    (morcela, §3.4, Appendix C)
    """
    tables = []
    for dataset, data_set in given.items():
        rated = rated_scores(dataset, *data_set)
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
                    dataset=dataset,
                    rating_source=data_set.rating_source,
                    unigrams=unigrams,
                    bos=bos,
                    default_convention=(bos, unigrams) == default_convention,
                    cluster=clusters[0],
                    kept_together=kept[0],
                )
            )
    return joined(tables, "linking_functions", model, scale)


def draw_parameters(
    model: str,
    given: Mapping[str, DataSet],
    *,
    default_convention: Convention,
    cluster: str,
    keep_together: str,
    scale: str,
    **fitting: Any,
) -> pd.DataFrame:
    """Refit linking functions under a model's default convention to resamples that all share.

    Arguments as of `fit_model`; returns a `linking_draws` table, without rows for data sets of
    which the model has no unigrams.
    """
    tables = []
    for dataset, rated, source in by_default(model, given, default_convention):
        if rated["unigram_logprob"].isna().all():
            continue
        used, clusters = units_of(rated, cluster)
        kept = units_of(rated, keep_together, fitting["folds"] * MINIMUM_PER_FOLD)
        _, draws = resample_linking_functions(
            *(rated[name] for name in FITTED_COLUMNS),
            together=kept[1],
            clusters=clusters,
            **fitting,
        )
        about = {"dataset": dataset, "rating_source": source, "cluster": used, "n": len(rated)}
        tables.append(draws.assign(**about))
    return joined(tables, "linking_draws", model, scale)


def by_default(
    model: str, given: Mapping[str, DataSet], convention: Convention
) -> Iterator[tuple[str, pd.DataFrame, str]]:
    """Yield each data set's name, its rated scores under one convention, and their source."""
    for dataset, data_set in given.items():
        scores = under(convention, model, dataset, data_set.scores)
        yield dataset, rated_scores(dataset, data_set.stimuli, scores), data_set.rating_source


def joined(
    tables: Sequence[pd.DataFrame], schema: str, model: str, scale: str, **about: str
) -> pd.DataFrame:
    """Put tables of a model below each other, with the columns of a schema, also where none is."""
    columns = SCHEMAS[schema].names
    table = pd.concat(tables, ignore_index=True) if tables else pd.DataFrame(columns=columns)
    return table.assign(model=model, scale=scale, **about)[columns]


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
