"""What another BOS policy would change: accuracy and separation under each that was scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from lingprob.minimalness.distances import pair_texts
from lingprob.papers.string_probability.data import (
    Dataset,
    Options,
    of_convention,
    pairs_of,
    string_scores,
    table_of,
    units,
)
from lingprob.regression.proportions import preferences
from lingprob.regression.resampling import mean_interval
from lingprob.regression.roc import area_intervals, area_under_roc


def compare_conventions(
    model: str,
    datasets: Sequence[Dataset],
    sentence_scores: Sequence[pd.DataFrame],
    *,
    convention: tuple[str, str],
    options: Options,
) -> pd.DataFrame:
    """Return the `string_conventions` table: a row a data set of pairs and BOS policy.

    Args:
        model: whose scores these are.
        datasets: with the scores of the chosen `convention` (BOS policy, unigram source).
        sentence_scores: `sentence_scores` of each data set, under all BOS policies scored.
        convention: the one that the analyses use.
        options: of the analyses.

    Accuracies are of log p, over all pairs and over those whose first word differs, which a policy
    that leaves the first token out cannot tell apart there.
    """
    rows: list[dict[str, Any]] = []
    for dataset, scores in zip(datasets, sentence_scores, strict=True):
        if dataset.stimuli["pair_id"].isna().all():
            continue
        differs = first_words_differ(dataset)
        for bos in scores["bos"].unique():
            chosen = of_convention(scores, dataset.name, (bos, convention[1]))
            row = {"dataset": dataset.name, "bos": bos, "used": bos == convention[0]}
            table = string_scores(model, replace(dataset, scores=chosen), None, options)
            rows.append({**row, **accuracy_and_area(table, differs, options)})
    return table_of(rows, "string_conventions", model=model, scale=options.scale)


def first_words_differ(dataset: Dataset) -> pd.Series:
    """Tell of each pair, by its id, whether its sentences begin with different words."""
    texts = pair_texts(dataset.stimuli, dataset.name)
    first = texts.apply(lambda column: column.str.split().str[0])
    return first["good"] != first["bad"]


def accuracy_and_area(
    table: pd.DataFrame, differs: pd.Series, options: Options
) -> dict[str, float | int]:
    """Return accuracy on pairs, on those whose first word differs, and the area of log p."""
    resampling: dict[str, Any] = {"draws": options.bootstrap, "seed": options.seed}
    pairs = pairs_of(table)
    right = preferences(pairs["logprob_good"], pairs["logprob_bad"])
    differing = differs.reindex(pairs["pair_id"]).to_numpy(dtype=bool)
    row: dict[str, float | int] = {"n_pairs": len(pairs), "n_first_differs": int(differing.sum())}
    for name, chosen in (("accuracy", np.ones_like(differing)), ("first_differs", differing)):
        bounds = (np.nan, np.nan)
        if chosen.any():
            unit = units(pairs[chosen], options.cluster_by_paradigm)
            bounds = mean_interval(right[chosen], unit, **resampling)
        row[name] = right[chosen].mean() if chosen.any() else np.nan
        row[f"{name}_low"], row[f"{name}_high"] = bounds
    logprob = table["logprob"].to_numpy(dtype=float)
    positive = table["grammatical"].to_numpy(dtype=bool)
    unit = units(table, options.cluster_by_paradigm)
    row["auc"] = area_under_roc(logprob, positive)
    row["auc_low"], row["auc_high"] = area_intervals(
        logprob[:, None], positive, unit, **resampling
    )[0]
    return row
