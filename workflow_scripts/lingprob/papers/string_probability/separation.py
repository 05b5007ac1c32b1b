"""Prediction 3: do scores separate grammatical strings from others? (Hu et al. 2026)"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from lingprob.papers.string_probability.data import Options, pairs_of, table_of, units
from lingprob.papers.string_probability.metrics import METRICS
from lingprob.regression.proportions import preferences
from lingprob.regression.resampling import interval, mean_interval
from lingprob.regression.roc import area_under_roc, resampled_areas, roc_curve
from lingprob.schemas import SCHEMAS

ROC_POINTS = 201
# Those that outperform the others of the paper (§6.4).
LEADERS = ("slor", "mean_logprob")
FOLLOWERS = ("logprob", "uniform_bayes_factor", "unigram_bayes_factor")
# Stands for a data set's name where several are taken together; no data set may be called so.
POOLED = "all data sets"


def separation(
    model: str, scores: pd.DataFrame, pooled_datasets: Sequence[str], options: Options
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the `string_separation` and `string_roc` tables of one model: Prediction 3.

    `scores` has the data sets for it; those of `pooled_datasets` make a flat set too, in which a
    sample counts as much as the whole data set that it was drawn from. The area
    under the ROC curve tells grammatical from ungrammatical sentences without regard to pairs; the
    accuracy is the share of pairs whose grammatical sentence scores higher. (string_probability,
    §6.3)
    """
    groups = [(name, "", group) for name, group in scores.groupby("dataset", sort=False)]
    groups += [
        (name, phenomenon, group)
        for (name, phenomenon), group in scores.groupby(["dataset", "phenomenon"], sort=False)
    ]
    together = scores[scores["dataset"].isin(pooled_datasets)]
    if together["dataset"].nunique() > 1:
        groups.append((POOLED, "", together))
    rows: list[dict[str, Any]] = []
    curves = [pd.DataFrame(columns=["dataset"])]
    for name, phenomenon, group in groups:
        rows += [
            {"dataset": name, "phenomenon": phenomenon, **row}
            for row in separation_rows(group, options)
        ]
        if not phenomenon:
            curves.append(curves_of(group).assign(dataset=name))
    about = {"model": model, "scale": options.scale}
    roc = pd.concat(curves, ignore_index=True).assign(**about)
    return (
        table_of(rows, "string_separation", **about),
        roc.reindex(columns=SCHEMAS["string_roc"].names).astype({"metric": object}),
    )


def separation_rows(group: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """Return a row a metric: area under the ROC curve and accuracy on pairs, with intervals.

    What SLOR and mean log p lead by, in area, is over the best of the paper's others that are known
    here, on the same resamples.
    A value that is not defined (one class, no pairs, a metric that needs unigrams) is NaN.
    """
    positive = group["grammatical"].to_numpy(dtype=bool)
    clustered = options.cluster_by_paradigm and group["paradigm"].nunique() > 1
    unit = units(group, clustered)
    known = [name for name in METRICS if group[name].notna().all()]
    resampling: dict[str, int] = {"draws": options.bootstrap, "seed": options.seed}
    weight = group["weight"].to_numpy(dtype=float)
    columns = group[known].to_numpy(dtype=float)
    found = [area_under_roc(column, positive, weight) for column in columns.T]
    areas = dict(zip(known, found, strict=True))
    resampled = resampled_areas(columns, positive, unit, weight=weight, **resampling)
    drawn = dict(zip(known, resampled, strict=True))
    pair_id = group["pair_id"].astype("string")
    pairs = pairs_of(group.assign(pair_id=group["dataset"] + "/" + pair_id))
    rows = []
    for name in METRICS:
        row: dict[str, Any] = {"metric": name, "n_pairs": len(pairs)}
        row |= {"n_grammatical": int(positive.sum()), "n_ungrammatical": int((~positive).sum())}
        row |= dict.fromkeys(("auc", "auc_low", "auc_high"), np.nan)
        row |= dict.fromkeys(("accuracy", "accuracy_low", "accuracy_high"), np.nan)
        if name in known:
            row["auc"] = areas[name]
            row["auc_low"], row["auc_high"] = interval(drawn[name])
        if name in known and name in LEADERS:
            others = [other for other in FOLLOWERS if other in known]
            row["lead"] = areas[name] - max(areas[other] for other in others)
            best = np.max([drawn[other] for other in others], axis=0)
            row["lead_low"], row["lead_high"] = interval(drawn[name] - best)
        if name in known and len(pairs):
            right = preferences(pairs[f"{name}_good"], pairs[f"{name}_bad"])
            of_pair = units(pairs, clustered)
            of_set = pairs["weight"].to_numpy(dtype=float)
            row["accuracy"] = np.average(right, weights=of_set)
            row["accuracy_low"], row["accuracy_high"] = mean_interval(
                right, of_pair, weight=of_set, **resampling
            )
        rows.append(row)
    return rows


def curves_of(group: pd.DataFrame) -> pd.DataFrame:
    """Return each metric's ROC curve at evenly spaced false positive rates."""
    positive = group["grammatical"].to_numpy(dtype=bool)
    weight = group["weight"].to_numpy(dtype=float)
    at = np.linspace(0, 1, ROC_POINTS)
    curves = []
    for name in METRICS:
        if group[name].notna().all() and 0 < positive.sum() < len(positive):
            false, true = roc_curve(group[name].to_numpy(dtype=float), positive, weight)
            curves.append(
                pd.DataFrame(
                    {
                        "metric": name,
                        "false_positive_rate": at,
                        "true_positive_rate": np.interp(at, false, true),
                    }
                )
            )
    empty = pd.DataFrame(columns=["metric", "false_positive_rate", "true_positive_rate"])
    return pd.concat(curves, ignore_index=True) if curves else empty
