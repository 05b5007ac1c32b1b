"""String probability and grammaticality: three predictions, for one model (Hu et al. 2026).

Predictions 1b and 2b are also tested without what changes with minimalness beside it. A
correlation within a bin falls with the spread of its pairs: the same line and the same scatter
about it give a lower r if the messages vary less. Slope and scatter say whether less minimal pairs
are less alike, and r at a common spread puts both into one number.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.papers.string_probability.data import (
    Dataset,
    Options,
    of_convention,
    pairs_of,
    string_scores,
    table_of,
    units,
    variables,
)
from lingprob.papers.string_probability.separation import pools, separation
from lingprob.stats.proportions import preferences
from lingprob.stats.resampling import (
    correlation,
    correlation_interval,
    interval,
    mean_interval,
    resamples,
)
from lingprob.stats.roc import area_intervals, area_under_roc
from lingprob.stimuli.distances import equal_bins, pair_texts

logger = logging.getLogger(__name__)
Array = NDArray[np.float64]
Ints = NDArray[np.int64]
LENGTHS = ("n_tokens_good", "n_tokens_bad")
QUANTITIES = ("spread", "slope", "residual_sd", "r", "r_common_spread", "r_without_length")
# Those whose change from the first to the last bin is computed.
TRENDS = ("r", "r_common_spread", "r_without_length", "slope", "residual_sd", "spread")
# Pairs that a bin needs.
FEWEST = 5
# Below this part of the largest, an eigenvalue counts as 0.
SINGULAR = 1e-9


def analyse(
    model: str,
    datasets: list[Dataset],
    pooled_datasets: Sequence[str],
    vocabulary_size: int | None,
    options: Options,
) -> dict[str, pd.DataFrame]:
    """Return the `string_` tables scores, correlations, confounds, separation, pools and roc."""
    if not datasets:
        raise LingprobError(
            f"string_probability: no data set of prediction_1 to prediction_3 is in the language "
            f"of {model!r} and covered by its scores. Add one, or take the model out."
        )
    tables = [string_scores(model, dataset, vocabulary_size, options) for dataset in datasets]
    scores = pd.concat(tables, ignore_index=True)
    third = [dataset.name for dataset in datasets if 3 in dataset.predictions]
    of_third = (model, scores[scores["dataset"].isin(third)], pooled_datasets, options)
    separated, curves = separation(*of_third)
    return {
        "string_scores": scores,
        "string_correlations": correlations(model, datasets, scores, options),
        "string_confounds": confounds(model, datasets, scores, options),
        "string_separation": separated,
        "string_pools": pools(*of_third),
        "string_roc": curves,
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
            "Prediction %d: no correlation in %d of %d subsets, of fewer than 3 pairs or of none "
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


def confounds(
    model: str, datasets: Sequence[Dataset], scores: pd.DataFrame, options: Options
) -> pd.DataFrame:
    """Return the `string_confounds` table: each quantity in each bin, and its change over bins.

    Args:
        model: whose `scores` (`string_scores`) these are.
        datasets: for the predictions that each is for.
        scores: of all of them.
        options: bins, bootstrap draws and what is resampled.
    """
    rows: list[dict[str, Any]] = []
    for dataset in datasets:
        for prediction in sorted(dataset.predictions & {1, 2}):
            pairs = variables(pairs_of(scores[scores["dataset"] == dataset.name]), prediction)
            if len(pairs) >= FEWEST * options.bins:
                simulated = prediction == 2 and pairs["rating_source"].eq("simulated").any()
                about = {"dataset": dataset.name, "prediction": prediction}
                about["simulated"] = bool(simulated)
                rows += [{**about, **row} for row in confounds_of(pairs, options)]
    return table_of(rows, "string_confounds", model=model, scale=options.scale)


def confounds_of(pairs: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """Return rows of one prediction on one data set, from columns x, y, lengths and distances."""
    columns = pairs[["x", "y", *LENGTHS]].to_numpy(dtype=float)
    columns = columns - columns.mean(axis=0)
    number = equal_bins(pairs["cosine_distance"], options.bins).to_numpy()
    common = columns[:, 0].std()
    found = bin_quantities(columns, number, np.ones(len(columns)), common)
    unit = units(pairs, options.cluster_by_paradigm)
    drawn = resampled_quantities(columns, number, unit, common, options)
    rows = []
    for place, quantity in enumerate(QUANTITIES):
        for at in range(options.bins):
            low, high = interval(drawn[:, at, place])
            row = {"subset": "bin", "name": str(at + 1), "n": int((number == at + 1).sum())}
            row |= {"value": found[at, place], "value_low": low, "value_high": high}
            rows.append({**row, "quantity": quantity})
    for quantity in TRENDS:
        place = QUANTITIES.index(quantity)
        low, high = interval(changes(drawn[:, :, place]))
        row = {"subset": "change", "name": "", "n": len(pairs), "quantity": quantity}
        value = float(changes(found[None, :, place])[0])
        rows.append({**row, "value": value, "value_low": low, "value_high": high})
    return rows


def changes(by_bin: Array) -> Array:
    """Return the fitted change from the first to the last bin, (m,), of values (m, bins).

    A least-squares line over the numbers of the bins; NaN if a bin has no value.
    """
    centred = np.arange(by_bin.shape[1]) - (by_bin.shape[1] - 1) / 2
    if len(centred) < 2:
        return np.full(len(by_bin), np.nan)
    return by_bin @ centred / (centred @ centred) * (len(centred) - 1)


def bin_quantities(columns: Array, number: Ints, weight: Array, common: float) -> Array:
    """Return the QUANTITIES of each bin, (bins, 6), of centred columns x, y and the two lengths."""
    moments = np.stack(
        [
            moment_matrices(columns[number == at]).T @ weight[number == at]
            for at in range(1, number.max() + 1)
        ]
    )
    return quantities(moments, common)


def moment_matrices(columns: Array) -> Array:
    """Return the products of every two of (1, columns) by row, (n, (k + 1)²)."""
    wide = np.column_stack([np.ones(len(columns)), columns])
    return np.einsum("ij,ik->ijk", wide, wide).reshape(len(wide), -1)


def resampled_quantities(
    columns: Array, number: Ints, unit: Ints, common: float, options: Options
) -> Array:
    """Return the QUANTITIES of each bin in each bootstrap draw, (draws, bins, 6).

    Bins and the common spread are those of the data.
    """
    by_bin = []
    for at in range(1, number.max() + 1):
        members = number == at
        present, place = np.unique(unit[members], return_inverse=True)
        sums = np.zeros((len(present), (columns.shape[1] + 1) ** 2))
        np.add.at(sums, place, moment_matrices(columns[members]))
        by_bin.append((present, sums))
    drawn = []
    for counts in resamples(int(unit.max()) + 1, options.bootstrap, options.seed):
        counted = counts.astype(np.float64)
        moments = [counted[:, present] @ sums for present, sums in by_bin]
        drawn.append(quantities(np.stack(moments, axis=1), common))
    return np.concatenate(drawn)


def quantities(moments: Array, common: float) -> Array:
    """Return the QUANTITIES, (..., 6), of summed moment matrices (..., (k + 1)²).

    The regression is of y on x: slope b and standard deviation s of the residuals. At the common
    spread S of x, r is b S / sqrt(b² S² + s²). Without length, r is that of what the lengths of the
    two sentences leave of x and y.
    """
    width = round(np.sqrt(moments.shape[-1]))
    matrix = moments.reshape(*moments.shape[:-1], width, width)
    with np.errstate(divide="ignore", invalid="ignore"):
        matrix = matrix / matrix[..., :1, :1]
        mean = matrix[..., 0, 1:]
        covariance = matrix[..., 1:, 1:] - mean[..., :, None] * mean[..., None, :]
        xx, yy, xy = (covariance[..., i, j] for i, j in ((0, 0), (1, 1), (0, 1)))
        slope = xy / xx
        residual = np.sqrt(np.maximum(yy - slope * xy, 0.0))
        at_common = slope * common / np.sqrt((slope * common) ** 2 + residual**2)
        left = without_lengths(covariance)
        partial = left[..., 0, 1] / np.sqrt(left[..., 0, 0] * left[..., 1, 1])
        r = xy / np.sqrt(xx * yy)
    return np.stack([np.sqrt(np.maximum(xx, 0.0)), slope, residual, r, at_common, partial], axis=-1)


def without_lengths(covariance: Array) -> Array:
    """Return the covariance, (..., 2, 2), of what the other columns leave of the first two."""
    filled = np.where(np.isfinite(covariance), covariance, 0.0)
    cross, lengths = filled[..., :2, 2:], filled[..., 2:, 2:]
    # Sentences of a pair mostly have one length: the two columns may be the same.
    inverse = np.linalg.pinv(lengths, rcond=SINGULAR, hermitian=True)
    explained = cross @ inverse @ np.swapaxes(cross, -1, -2)
    return covariance[..., :2, :2] - explained


def compare_conventions(
    model: str,
    datasets: Sequence[Dataset],
    sentence_scores: Sequence[pd.DataFrame],
    *,
    convention: tuple[str, str],
    options: Options,
) -> pd.DataFrame:
    """Return the `string_conventions` table: one row per data set of pairs and BOS policy.

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
