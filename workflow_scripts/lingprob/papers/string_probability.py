"""String probability and grammaticality: three predictions, for one model (Hu et al. 2026)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.minimalness.distances import equal_bins, pair_texts, within_quantile
from lingprob.papers.string_metrics import METRICS, learned_weights, paper_metrics
from lingprob.regression.bootstrap import (
    area_intervals,
    area_under_roc,
    correlation,
    correlation_interval,
    mean_interval,
    roc_curve,
)
from lingprob.tables import SCHEMAS

logger = logging.getLogger(__name__)
POOLED = "all"
ROC_POINTS = 201


@dataclass(frozen=True)
class Options:
    """What the analyses may vary; each is a key of config.yaml's `string_probability`."""

    bins: int
    levenshtein_unit: str
    levenshtein_quantile: float
    levenshtein_comparison: str
    bootstrap: int
    cluster_by_paradigm: bool
    folds: int
    seed: int
    scale: str


@dataclass(frozen=True)
class Dataset:
    """A data set as one model sees it.

    `stimuli`, `scores` (`sentence_scores` of one convention) and `distances` (`minimalness`; None
    for Prediction 3 alone) are tables; `predictions` says which of 1, 2 and 3 it is for.
    """

    name: str
    predictions: frozenset[int]
    stimuli: pd.DataFrame
    scores: pd.DataFrame
    distances: pd.DataFrame | None


def assemble(
    predictions: dict[str, list[int]],
    stimuli: Sequence[pd.DataFrame],
    sentence_scores: Sequence[pd.DataFrame],
    distances: dict[str, pd.DataFrame],
    *,
    convention: tuple[str, str],
) -> list[Dataset]:
    """Put tables together by data set; `convention` is the (BOS policy, unigram source) used.

    `predictions` names the data sets in the order of the tables.
    """
    bos, unigrams = convention
    datasets = []
    for name, items, scores in zip(predictions, stimuli, sentence_scores, strict=True):
        chosen = scores[(scores["bos"] == bos) & (scores["unigrams"] == unigrams)]
        numbers = frozenset(predictions[name])
        datasets.append(Dataset(name, numbers, items, chosen, distances.get(name)))
    return datasets


def analyse(
    model: str,
    datasets: list[Dataset],
    pooled_datasets: Sequence[str],
    vocabulary_size: int | None,
    options: Options,
) -> dict[str, pd.DataFrame]:
    """Return the tables `scores`, `correlations`, `separation` and `roc` of one model."""
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
        "separation": separated,
        "roc": curves,
    }


def string_scores(
    model: str, dataset: Dataset, vocabulary_size: int | None, options: Options
) -> pd.DataFrame:
    """Return the `string_scores` table of a data set: each sentence's metrics.

    Pairs of identical sentences are left out and, of a data set for Prediction 2, pairs that
    differ by too many edits (string_probability, §5.1).
    """
    stimuli = dataset.stimuli
    if stimuli["grammatical"].isna().any():
        item = stimuli.loc[stimuli["grammatical"].isna(), "item_id"].iloc[0]
        raise LingprobError(
            f"data set {dataset.name!r}, item {item!r}: not said to be grammatical or not. Give "
            "the column `grammatical`, or take the data set out of string_probability."
        )
    columns = ["item_id", "pair_id", "grammatical", "phenomenon", "paradigm", "rating"]
    table = stimuli[[*columns, "rating_source"]]
    table = table[table["pair_id"].isna() | table["pair_id"].isin(chosen_pairs(dataset, options))]
    if dataset.distances is not None:
        distances = dataset.distances[["pair_id", "cosine_distance"]]
        table = table.merge(distances, on="pair_id", how="left")
    table = table.merge(dataset.scores, on="item_id", how="left", validate="one_to_one")
    metrics = paper_metrics(table, vocabulary_size)
    metrics["learned_weights"] = learned_weights(
        table,
        table["grammatical"].to_numpy(dtype=bool),
        units(table, False),
        folds=options.folds,
        seed=options.seed,
    )
    table = table.drop(columns=["logprob"]).join(metrics)
    table = table.assign(model=model, dataset=dataset.name, scale=options.scale)
    names = SCHEMAS["string_scores"].names
    return table.assign(**{name: None for name in names if name not in table})[names]


def chosen_pairs(dataset: Dataset, options: Options) -> pd.Index:
    """Return the ids of the pairs that the analyses use."""
    texts = pair_texts(dataset.stimuli)
    pairs = texts.index[texts["good"] != texts["bad"]]
    if dataset.distances is None or 2 not in dataset.predictions:
        return pairs
    distances = dataset.distances.set_index("pair_id")[f"levenshtein_{options.levenshtein_unit}"]
    near = within_quantile(distances, options.levenshtein_quantile, options.levenshtein_comparison)
    return pairs.intersection(near.index[near])


def units(table: pd.DataFrame, cluster_by_paradigm: bool) -> NDArray[np.int64]:
    """Return the number, (n,) int from 0, of what each row is resampled with.

    Its pair, or its paradigm; a sentence without either is on its own.
    """
    own = table["dataset"].astype(str) + "/" if "dataset" in table else ""
    unit = table["pair_id"].fillna(table["item_id"])
    if cluster_by_paradigm:
        unit = table["paradigm"].fillna(unit)
    return pd.factorize(own + unit)[0]


def pairs_of(scores: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of a `string_scores` table of one data set, a pair a row.

    Columns: pair_id, paradigm, phenomenon, cosine_distance and, for good and bad, every metric and
    the rating as NAME_good and NAME_bad.
    """
    paired = scores[scores["pair_id"].notna()]
    about = paired.drop_duplicates("pair_id").set_index("pair_id")
    pairs = about[["paradigm", "phenomenon", "cosine_distance", "rating_source"]]
    for side, suffix in ((True, "_good"), (False, "_bad")):
        chosen = paired[paired["grammatical"] == side].set_index("pair_id")
        pairs = pairs.join(chosen[[*METRICS, "rating"]].add_suffix(suffix))
    return pairs.reset_index()


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
    names = SCHEMAS["string_correlations"].names
    table = pd.DataFrame(rows).assign(model=model, scale=options.scale) if rows else None
    return pd.DataFrame(columns=names) if table is None else table[names]


def correlations_of(pairs: pd.DataFrame, prediction: int, options: Options) -> list[dict[str, Any]]:
    """Return a prediction's correlations in one data set: overall, by bin and by paradigm."""
    good, bad = pairs["logprob_good"], pairs["logprob_bad"]
    if prediction == 1:
        pairs = pairs.assign(x=good, y=bad)
    else:
        pairs = pairs.assign(x=pairs["rating_good"] - pairs["rating_bad"], y=good - bad)
    pairs = pairs[pairs["x"].notna()].reset_index(drop=True)
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
    unit = pd.factorize(group["paradigm"])[0] if clustered else np.arange(len(group))
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


def separation(
    model: str, scores: pd.DataFrame, pooled_datasets: Sequence[str], options: Options
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the `string_separation` and `string_roc` tables of one model: Prediction 3.

    `scores` has the data sets for it; those of `pooled_datasets` make a flat set too. The area
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
        groups.append((POOLED, "", pooled(together, options)))
    rows: list[dict[str, Any]] = []
    curves = [pd.DataFrame(columns=["dataset"])]
    for name, phenomenon, group in groups:
        rows += [
            {"dataset": name, "phenomenon": phenomenon, **row}
            for row in separation_rows(group, options)
        ]
        if not phenomenon:
            curves.append(curves_of(group).assign(dataset=name))
    tables = {"string_separation": pd.DataFrame(rows), "string_roc": pd.concat(curves)}
    separated, roc = (
        table.assign(model=model, scale=options.scale).reindex(columns=SCHEMAS[name].names)
        for name, table in tables.items()
    )
    return separated, roc


def pooled(scores: pd.DataFrame, options: Options) -> pd.DataFrame:
    """Return all data sets in one flat set, with weights learned from all of them."""
    parts = scores.assign(
        unigram_logprob=scores["logprob"] - scores["unigram_bayes_factor"],
    )
    learned = learned_weights(
        parts,
        parts["grammatical"].to_numpy(dtype=bool),
        units(parts, False),
        folds=options.folds,
        seed=options.seed,
    )
    return scores.assign(learned_weights=learned)


def separation_rows(group: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """Return a row a metric: area under the ROC curve and accuracy on pairs, with intervals.

    A value that is not defined (one class, no pairs, a metric that needs unigrams) is NaN.
    """
    positive = group["grammatical"].to_numpy(dtype=bool)
    unit = units(group, options.cluster_by_paradigm and group["paradigm"].nunique() > 1)
    known = [name for name in METRICS if group[name].notna().all()]
    resampling: dict[str, int] = {"draws": options.bootstrap, "seed": options.seed}
    areas = area_intervals(group[known].to_numpy(dtype=float), positive, unit, **resampling)
    pair_id = group["pair_id"].astype("string")
    pairs = pairs_of(group.assign(pair_id=group["dataset"] + "/" + pair_id))
    rows = []
    for name in METRICS:
        row: dict[str, Any] = {"metric": name, "n_pairs": len(pairs)}
        row |= {"n_grammatical": int(positive.sum()), "n_ungrammatical": int((~positive).sum())}
        row |= dict.fromkeys(("auc", "auc_low", "auc_high"), np.nan)
        row |= dict.fromkeys(("accuracy", "accuracy_low", "accuracy_high"), np.nan)
        if name in known:
            row["auc"] = area_under_roc(group[name].to_numpy(dtype=float), positive)
            row["auc_low"], row["auc_high"] = areas[known.index(name)]
        if name in known and len(pairs):
            right = (pairs[f"{name}_good"] > pairs[f"{name}_bad"]).to_numpy(dtype=float)
            of_pair = np.arange(len(pairs))
            if options.cluster_by_paradigm and pairs["paradigm"].nunique() > 1:
                of_pair = pd.factorize(pairs["paradigm"])[0]
            row["accuracy"] = right.mean()
            row["accuracy_low"], row["accuracy_high"] = mean_interval(right, of_pair, **resampling)
        rows.append(row)
    return rows


def curves_of(group: pd.DataFrame) -> pd.DataFrame:
    """Return each metric's ROC curve at evenly spaced false positive rates."""
    positive = group["grammatical"].to_numpy(dtype=bool)
    at = np.linspace(0, 1, ROC_POINTS)
    curves = []
    for name in METRICS:
        if group[name].notna().all() and 0 < positive.sum() < len(positive):
            false, true = roc_curve(group[name].to_numpy(dtype=float), positive)
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
