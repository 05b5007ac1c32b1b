"""String probability and grammaticality: three predictions, for one model (Hu et al. 2026)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.minimalness.distances import equal_bins
from lingprob.papers.string_probability.confounds import confounds
from lingprob.papers.string_probability.data import (
    Dataset,
    Options,
    pairs_of,
    string_scores,
    table_of,
    units,
    variables,
)
from lingprob.papers.string_probability.pools import pools
from lingprob.papers.string_probability.separation import separation
from lingprob.regression.resampling import correlation, correlation_interval

logger = logging.getLogger(__name__)


def analyse(
    model: str,
    datasets: list[Dataset],
    pooled_datasets: Sequence[str],
    vocabulary_size: int | None,
    options: Options,
) -> dict[str, pd.DataFrame]:
    """Return the tables `scores`, `correlations`, `confounds`, `separation`, `pools` and `roc`."""
    if not datasets:
        raise LingprobError(
            f"string_probability: no data set of prediction_1 to prediction_3 is in the language "
            f"of {model!r} and covered by its scores. Add one, or take the model out."
        )
    tables = [string_scores(model, dataset, vocabulary_size, options) for dataset in datasets]
    scores = pd.concat(tables, ignore_index=True)
    third = [dataset.name for dataset in datasets if 3 in dataset.predictions]
    separated, curves = separation(
        model, scores[scores["dataset"].isin(third)], pooled_datasets, options
    )
    return {
        "scores": scores,
        "correlations": correlations(model, datasets, scores, options),
        "confounds": confounds(model, datasets, scores, options),
        "separation": separated,
        "pools": pools(model, scores[scores["dataset"].isin(third)], pooled_datasets, options),
        "roc": curves,
    }


def correlations(
    model: str, datasets: list[Dataset], scores: pd.DataFrame, options: Options
) -> pd.DataFrame:
    """Return the `string_correlations` table: Predictions 1 and 2, overall, by bin and paradigm.

    1: log-probability of the grammatical with that of the ungrammatical sentence of a pair. 2: the
    difference of their ratings with that of their log-probabilities; pairs without both ratings
    are left out. (string_probability, §4.4 and §5.2)
    """
    rows: list[dict[str, Any]] = []
    for dataset in datasets:
        pairs = pairs_of(scores[scores["dataset"] == dataset.name])
        for prediction in sorted(dataset.predictions & {1, 2}):
            rows += [
                {"dataset": dataset.name, "prediction": prediction, **row}
                for row in correlations_of(pairs, prediction, options)
            ]
    return table_of(rows, "string_correlations", model=model, scale=options.scale)


def correlations_of(pairs: pd.DataFrame, prediction: int, options: Options) -> list[dict[str, Any]]:
    """Return a prediction's correlations in one data set: overall, by bin and by paradigm."""
    pairs = variables(pairs, prediction)
    subsets = [("overall", "", pairs, options.cluster_by_paradigm)]
    if len(pairs) >= options.bins:
        by_bin = pairs.groupby(equal_bins(pairs["cosine_distance"], options.bins))
        subsets += [
            ("bin", str(number), group, options.cluster_by_paradigm) for number, group in by_bin
        ]
    if prediction == 1:
        by_paradigm = pairs.groupby("paradigm", sort=False)
        subsets += [("paradigm", str(name), group, False) for name, group in by_paradigm]
    simulated = pairs["rating_source"].eq("simulated").any() and prediction == 2
    rows = []
    for subset, name, group, clustered in subsets:
        row = correlation_row(group, clustered, options)
        rows.append({"subset": subset, "name": name, "simulated": bool(simulated), **row})
    undefined = [f"{row['subset']} {row['name']}".strip() for row in rows if np.isnan(row["r"])]
    if undefined:
        logger.warning(
            "Prediction %d: no correlation in %d of %d subsets, for fewer than 3 pairs or none "
            "that vary: %s",
            prediction, len(undefined), len(rows), ", ".join(undefined[:5]),
        )  # fmt: skip
    return rows


def correlation_row(group: pd.DataFrame, clustered: bool, options: Options) -> dict[str, Any]:
    """Return r of columns x and y with its interval, and the cosine distances of the pairs."""
    x, y = (group[column].to_numpy(dtype=float) for column in ("x", "y"))
    unit = units(group, clustered)
    low, high = correlation_interval(x, y, unit, draws=options.bootstrap, seed=options.seed)
    distance = group["cosine_distance"]
    return {
        "n": len(group),
        "r": correlation(x, y),
        "r_low": low,
        "r_high": high,
        "cosine_mean": distance.mean(),
        "cosine_low": distance.min(),
        "cosine_high": distance.max(),
    }
