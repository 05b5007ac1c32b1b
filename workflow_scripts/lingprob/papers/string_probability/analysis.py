"""Test the three predictions about string probability with one model's scores (Hu et al. 2026).

Predictions 1b and 2b compare r between bins, which has confounds: r is lower if messages in a bin
vary less, and higher if lengths vary more. So they are also tested by r at a common spread of x,
and by r with both sentence lengths partialled out.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.papers.string_probability.data import (
    METRICS,
    Dataset,
    Options,
    pairs_of,
    string_scores,
    table_of,
    units,
    variables,
)
from lingprob.stats.resampling import (
    CONSTANT_SUMS,
    correlation,
    correlation_interval,
    interval,
    preferences,
    resampled_means,
    resamples,
    widened,
)
from lingprob.stats.roc import area_under_roc, resampled_areas, roc_curve
from lingprob.stimuli.distances import equal_bins

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
ENDS = ("", "_low", "_high")
LENGTHS = ("n_tokens_good", "n_tokens_bad")
QUANTITIES = ("spread", "slope", "residual_sd", "r", "r_common_spread", "r_without_length")
UNLIMITED = (-np.inf, np.inf)
LIMITS = dict.fromkeys(("r", "r_common_spread", "r_without_length"), (-1.0, 1.0))
LIMITS |= dict.fromkeys(("spread", "residual_sd"), (0.0, np.inf))
FEWEST = 5  # least number of pairs in a bin
SINGULAR = 1e-9  # an eigenvalue below this part of the largest counts as 0
# The metrics that outperform the paper's other metrics (§6.4), and the other metrics.
LEADERS = ("slor", "mean_logprob")
FOLLOWERS = ("logprob", "uniform_bayes_factor", "unigram_bayes_factor")
POOLED = "all data sets"  # name of the pooled data sets, which no data set may have
ROC_POINTS = 201


def analyse(
    model: str,
    datasets: Sequence[Dataset],
    pooled_datasets: Sequence[str],
    vocabulary_size: int | None,
    options: Options,
) -> dict[str, pd.DataFrame]:
    """Return a model's tables `string_` scores, correlations, confounds, separation and roc.

    `separation` also pools `pooled_datasets`. `vocabulary_size` is None if it is unknown. Raises
    LingprobError if `datasets` is empty.
    """
    if not datasets:
        raise LingprobError(
            f"string_probability: no data set in the language of {model!r}. Add one, or remove the "
            "model from string_probability.models."
        )
    tables = [string_scores(model, dataset, vocabulary_size, options.scale) for dataset in datasets]
    scores = pd.concat(tables, ignore_index=True)
    third = [dataset.name for dataset in datasets if 3 in dataset.predictions]
    of_third = scores[scores["dataset"].isin(third)]
    return {
        "string_scores": scores,
        **pair_tables(model, datasets, scores, options),
        **separation(model, of_third, pooled_datasets, options),
    }


def pair_tables(
    model: str, datasets: Sequence[Dataset], scores: pd.DataFrame, options: Options
) -> dict[str, pd.DataFrame]:
    """Return `string_correlations` and `string_confounds`: Predictions 1 and 2 (§4.4, §5.2).

    Confounds need FEWEST pairs in each bin.
    """
    r: list[dict[str, Any]] = []
    confounds: list[dict[str, Any]] = []
    for dataset in datasets:
        pairs = pairs_of(scores[scores["dataset"] == dataset.name])
        for prediction in sorted(dataset.predictions & {1, 2}):
            chosen = variables(pairs, prediction)
            simulated = prediction == 2 and chosen["rating_source"].eq("simulated").any()
            about = {
                "dataset": dataset.name,
                "prediction": prediction,
                "simulated": bool(simulated),
            }
            r += [{**about, **row} for row in correlations_of(chosen, options)]
            if len(chosen) >= FEWEST * options.bins:
                confounds += [{**about, **row} for row in confounds_of(chosen, options)]
    return {
        name: table_of(rows, name, model=model, scale=options.scale)
        for name, rows in (("string_correlations", r), ("string_confounds", confounds))
    }


def correlations_of(pairs: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """Return rows of `string_correlations` of columns x and y of pairs: overall and by bin."""
    subsets = [("overall", "", pairs)]
    if len(pairs) >= options.bins:
        bins = equal_bins(pairs["cosine_distance"], options.bins)
        subsets += [("bin", str(number), group) for number, group in pairs.groupby(bins)]
    rows = []
    for subset, name, group in subsets:
        x, y = (group[column].to_numpy(dtype=float) for column in ("x", "y"))
        unit = units(group, options.resample)
        r = correlation(x, y)
        ends = correlation_interval(x, y, unit, draws=options.bootstrap, seed=options.seed)
        low, high = widened(r, ends, np.bincount(unit), (-1.0, 1.0))
        row = {
            "subset": subset,
            "name": name,
            "n": len(group),
            "r": r,
            "r_low": low,
            "r_high": high,
        }
        cosine = group["cosine_distance"]
        row |= {"cosine_mean": cosine.mean(), "cosine_low": cosine.min()}
        rows.append({**row, "cosine_high": cosine.max()})
    return rows


def confounds_of(pairs: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """Return rows of `string_confounds` for pairs with columns x, y, lengths and distances."""
    columns = pairs[["x", "y", *LENGTHS]].to_numpy(dtype=float)
    columns = columns - columns.mean(axis=0)
    number = equal_bins(pairs["cosine_distance"], options.bins).to_numpy()
    common = columns[:, 0].std()
    unit = units(pairs, options.resample)
    drawn = drawn_quantities(columns, number, unit, common, options)
    # The last row is the change over bins, from all pairs.
    drawn = np.concatenate([drawn, changes(drawn)[:, None]], axis=1)
    values, drawn = drawn[0], drawn[1:]
    parts = [("bin", str(at), number == at) for at in range(1, options.bins + 1)]
    rows = []
    for at, (subset, name, members) in enumerate([*parts, ("change", "", number > 0)]):
        sizes = np.bincount(unit[members])
        for place, quantity in enumerate(QUANTITIES):
            limits = LIMITS.get(quantity, UNLIMITED) if subset == "bin" else UNLIMITED
            value = float(values[at, place])
            low, high = widened(value, interval(drawn[:, at, place]), sizes, limits)
            row = {"subset": subset, "name": name, "n": int(members.sum()), "quantity": quantity}
            rows.append({**row, "value": value, "value_low": low, "value_high": high})
    return rows


def changes(by_bin: Array) -> Array:
    """Return the fitted change from the first to the last bin, (..., k), of values (..., bins, k).

    A least-squares line over the numbers of the bins. NaN if a bin has no value.
    """
    centred = np.arange(by_bin.shape[-2]) - (by_bin.shape[-2] - 1) / 2
    if len(centred) < 2:
        return np.full((*by_bin.shape[:-2], by_bin.shape[-1]), np.nan)
    return centred @ by_bin / (centred @ centred) * (len(centred) - 1)


def drawn_quantities(
    columns: Array, number: Ints, unit: Ints, common: float, options: Options
) -> Array:
    """Return the QUANTITIES by bin of the data and of each bootstrap draw, (1 + draws, bins, 6).

    Bins and the common spread are those of the data.
    """
    by_bin, wide = [], np.column_stack([np.ones(len(columns)), columns])
    products = np.einsum("ij,ik->ijk", wide, wide).reshape(len(wide), -1)
    for at in range(1, number.max() + 1):
        members = number == at
        present, place = np.unique(unit[members], return_inverse=True)
        sums = np.zeros((len(present), products.shape[1]))
        np.add.at(sums, place, products[members])
        by_bin.append((present, sums))
    size, found = int(unit.max()) + 1, []
    for counts in chain([np.ones((1, size))], resamples(size, options.bootstrap, options.seed)):
        counted = counts.astype(np.float64)
        moments = [counted[:, present] @ sums for present, sums in by_bin]
        found.append(quantities(np.stack(moments, axis=1), common))
    return np.concatenate(found)


def quantities(moments: Array, common: float) -> Array:
    """Return the QUANTITIES, (..., 6), of summed moment matrices (..., (k + 1)²).

    The regression is of y on x: slope b and standard deviation s of the residuals. At the common
    spread S of x, r is b S / sqrt(b² S² + s²). Without length, r correlates the residuals of x and
    y on the lengths of the two sentences. Columns or residuals without variance give NaN.
    """
    width = round(np.sqrt(moments.shape[-1]))
    matrix = moments.reshape(*moments.shape[:-1], width, width)
    with np.errstate(divide="ignore", invalid="ignore"):
        matrix = matrix / matrix[..., :1, :1]
        mean = matrix[..., 0, 1:]
        covariance = matrix[..., 1:, 1:] - mean[..., :, None] * mean[..., None, :]
        xx, yy, xy = (covariance[..., i, j] for i, j in ((0, 0), (1, 1), (0, 1)))
        spread = np.sqrt(np.maximum(xx, 0.0))
        xx, yy = (
            np.where(value > CONSTANT_SUMS * square, value, np.nan)
            for value, square in ((xx, matrix[..., 1, 1]), (yy, matrix[..., 2, 2]))
        )
        slope = xy / xx
        residual = np.sqrt(np.maximum(yy - slope * xy, 0.0))
        at_common = slope * common / np.sqrt((slope * common) ** 2 + residual**2)
        left = without_lengths(covariance)
        own, whole = np.diagonal(left, axis1=-2, axis2=-1), np.stack([xx, yy], axis=-1)
        own = np.where(own > SINGULAR * whole, own, np.nan)
        partial = np.clip(left[..., 0, 1] / np.sqrt(own.prod(axis=-1)), -1, 1)
        r = xy / np.sqrt(xx * yy)
    return np.stack([spread, slope, residual, r, at_common, partial], axis=-1)


def without_lengths(covariance: Array) -> Array:
    """Return the covariance, (..., 2, 2), of the first two columns' residuals on the others."""
    filled = np.where(np.isfinite(covariance), covariance, 0.0)
    cross, lengths = filled[..., :2, 2:], filled[..., 2:, 2:]
    # Sentences of a pair mostly have equal lengths, so the last two columns may be equal.
    inverse = np.linalg.pinv(lengths, rcond=SINGULAR, hermitian=True)
    explained = cross @ inverse @ np.swapaxes(cross, -1, -2)
    return covariance[..., :2, :2] - explained


def separation(
    model: str, scores: pd.DataFrame, pooled_datasets: Sequence[str], options: Options
) -> dict[str, pd.DataFrame]:
    """Return the tables `string_separation` and `string_roc`: Prediction 3 (§6.3).

    The data sets `pooled_datasets` are also analysed as one. A sample then has the weight of the
    data set that it was drawn from.
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
    points: list[dict[str, Any]] = []
    for name, phenomenon, group in groups:
        about = {"dataset": name, "phenomenon": phenomenon}
        rows += [{**about, **row} for row in separation_rows(group, options)]
        if not phenomenon:
            points += [{"dataset": name, **point} for point in roc_points(group)]
    return {
        name: table_of(found, name, model=model, scale=options.scale)
        for name, found in (("string_separation", rows), ("string_roc", points))
    }


def separation_rows(group: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """Return one row per metric. All 95% intervals use the same resamples.

    `auc` is the area under the ROC curve, without regard to pairs. `accuracy` is the share of pairs
    whose grammatical sentence scores higher. `gain` is accuracy minus area, the gain from pairing
    (§3). `lead` is the area of SLOR and of mean log p minus the highest area of the paper's three
    other metrics, if all are known. Undefined values (one class, no pairs, no unigrams) are NaN.
    """
    positive = group["grammatical"].to_numpy(dtype=bool)
    unit = units(group, options.resample)
    weight = group["weight"].to_numpy(dtype=float)
    known = [name for name in METRICS if group[name].notna().all()]
    pair_id = group["dataset"] + "/" + group["pair_id"].astype("string")
    pairs = pairs_of(group.assign(pair_id=pair_id))
    columns = group[known].to_numpy(dtype=float)
    resampling: dict[str, Any] = {"draws": options.bootstrap, "seed": options.seed}
    found = [area_under_roc(column, positive, weight) for column in columns.T]
    drawn = resampled_areas(columns, positive, unit, weight=weight, **resampling)
    areas = dict(zip(known, np.column_stack([found, drawn]), strict=True))
    if len(pairs):
        first = (~pair_id.duplicated() & pair_id.notna()).to_numpy()
        sides = ([f"{name}_{side}" for name in known] for side in ("good", "bad"))
        right = preferences(*(pairs[names] for names in sides))
        resampling |= {"units": int(unit.max()) + 1, "weight": weight[first]}
        share = np.average(right, axis=0, weights=weight[first])
        shares = np.vstack([share, resampled_means(right, unit[first], **resampling)])
        accuracies = dict(zip(known, shares.T, strict=True))
    else:
        accuracies = dict.fromkeys(known, np.full(options.bootstrap + 1, np.nan))
    best = np.max([areas[name] for name in FOLLOWERS if name in known], axis=0)
    rows = []
    for name in METRICS:
        row: dict[str, Any] = {"metric": name, "n_pairs": len(pairs)}
        row |= {"n_grammatical": int(positive.sum()), "n_ungrammatical": int((~positive).sum())}
        if name in known:
            quantities = {"auc": areas[name], "accuracy": accuracies[name]}
            quantities["gain"] = accuracies[name] - areas[name]
            if name in LEADERS and set(FOLLOWERS) <= set(known):
                quantities["lead"] = areas[name] - best
            row |= bounded(quantities, np.bincount(unit, weight))
        rows.append(row)
    return rows


def bounded(quantities: dict[str, Array], sizes: NDArray) -> dict[str, float]:
    """Return NAME, NAME_low and NAME_high of each quantity, an array [value, draws...].

    `sizes` are those of the resampled units, which widen the interval.
    """
    row: dict[str, float] = {}
    for name, (value, *draws) in quantities.items():
        limits = (0.0, 1.0) if name in ("auc", "accuracy") else (-1.0, 1.0)
        ends = widened(value, interval(np.array(draws)), sizes, limits)
        row |= {f"{name}{end}": float(one) for end, one in zip(ENDS, (value, *ends), strict=True)}
    return row


def roc_points(group: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the points of each metric's ROC curve at evenly spaced false positive rates."""
    positive = group["grammatical"].to_numpy(dtype=bool)
    weight = group["weight"].to_numpy(dtype=float)
    rates = np.linspace(0, 1, ROC_POINTS)
    for name in METRICS:
        if group[name].notna().all() and 0 < positive.sum() < len(positive):
            curve = roc_curve(group[name].to_numpy(dtype=float), positive, weight)
            for false, true in zip(rates, np.interp(rates, *curve), strict=True):
                yield {"metric": name, "false_positive_rate": false, "true_positive_rate": true}
