"""Prediction 3: do scores separate grammatical strings from others? (Hu et al. 2026)

A grammatical sentence is compared with an ungrammatical one of the same pair, then of the same
paradigm, phenomenon, data set, and of any: the gap stays and the spread grows (§3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from lingprob.io.schemas import SCHEMAS
from lingprob.papers.string_probability.data import METRICS, Options, pairs_of, table_of, units
from lingprob.stats.proportions import preferences
from lingprob.stats.resampling import interval, mean_interval, resamples
from lingprob.stats.roc import area_under_roc, drawn_areas, resampled_areas, roc_curve

ROC_POINTS = 201
# Those that outperform the others of the paper (§6.4).
LEADERS = ("slor", "mean_logprob")
FOLLOWERS = ("logprob", "uniform_bayes_factor", "unigram_bayes_factor")
# Stands for the name of several data sets together; no data set may be called so.
POOLED = "all data sets"
Array = NDArray[np.float64]
Ints = NDArray[np.int64]
# From fully paired to unpaired.
POOLS = ("pair", "paradigm", "phenomenon", "dataset", "all")
LENGTH_GROUPS = ("short", "middle", "long")
# Pairs that a set needs.
FEWEST = 10


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
    """Return one row per metric: area under the ROC curve and accuracy on pairs, with intervals.

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


def pools(
    model: str, scores: pd.DataFrame, pooled_datasets: Sequence[str], options: Options
) -> pd.DataFrame:
    """Return the `string_pools` table: the area under the ROC curve of log p as pools widen.

    `scores` is a `string_scores` table; sentences without a pair are left out. Rows are of a data
    set or of the flat set, of a paradigm, and of a third of the pairs by length.
    """
    rows: list[dict[str, Any]] = []
    for name, subset, group, pairs in pooled_groups(scores, pooled_datasets):
        if len(pairs) >= FEWEST:
            levels = levels_of(name, subset)
            about = {"dataset": name, "subset": subset, "name": group}
            rows += [{**about, **row} for row in pool_rows(pairs, levels, options)]
    return table_of(rows, "string_pools", model=model, scale=options.scale)


def levels_of(dataset: str, subset: str) -> Sequence[str]:
    """Return the pools of a data set, of the flat set or of a part of one."""
    if subset != "overall":
        return ("pair", "dataset")
    return POOLS if dataset == POOLED else POOLS[:-1]


def pooled_groups(
    scores: pd.DataFrame, pooled_datasets: Sequence[str]
) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield (data set, subset, its name, pairs)."""
    parts = []
    for name, group in scores.groupby("dataset", sort=False):
        pairs = pairs_of(group)
        if pairs.empty:
            continue
        parts.append(pairs)
        yield str(name), "overall", "", pairs
        for paradigm, chosen in pairs.groupby("paradigm", sort=False):
            if len(chosen) < len(pairs):
                yield str(name), "paradigm", str(paradigm), chosen
        rank = pairs["n_tokens_good"].rank(method="first").to_numpy()
        third = (rank - 1) * 3 // len(pairs)
        for place, title in enumerate(LENGTH_GROUPS):
            yield str(name), "length", title, pairs[third == place]
    together = [pairs for pairs in parts if pairs["dataset"].iloc[0] in pooled_datasets]
    if len(together) > 1:
        yield POOLED, "overall", "", pd.concat(together, ignore_index=True)


def pool_rows(pairs: pd.DataFrame, levels: Sequence[str], options: Options) -> list[dict[str, Any]]:
    """Return one row per pool, and one of what pairing gains over the widest of them.

    The area is the probability that a grammatical sentence scores above an ungrammatical one of its
    pair, or of another pair of its pool, ties counting half. Were both normal, it would be
    Φ(gap / spread): the mean difference over the standard deviation of the difference of two
    sentences of a pool. The gap is the same in all pools.
    """
    numbers = {level: pool_numbers(pairs, level) for level in levels}
    # Of levels that make the same pools the widest stands for all, but for single pairs.
    by_size: dict[int, str] = {}
    for level in levels:
        size = int(numbers[level].max()) + 1
        if size < len(pairs) or level == "pair":
            by_size[size] = level
    members = {level: numbers[level] for level in by_size.values()}
    logprob = pairs[["logprob_good", "logprob_bad"]].to_numpy(dtype=float)
    weight = pairs["weight"].to_numpy(dtype=float)
    unit = units(pairs, options.cluster_by_paradigm)
    drawn_from = int(unit.max()) + 1
    once = np.ones((drawn_from, 1))
    found, *drawn = (
        np.stack([pool_areas(logprob, pool, weight, unit, counts) for pool in members.values()])
        for counts in chain([once], resampled(drawn_from, options))
    )
    draws = np.concatenate(drawn, axis=1)
    rows: list[dict[str, Any]] = []
    for place, (level, pool) in enumerate(members.items()):
        row = {"pool": level, **bounded(found[place, 0], draws[place])}
        rows.append({**row, **binormal(logprob, pool, weight)})
    rows.append({"pool": "gain", **bounded(found[0, 0] - found[-1, 0], draws[0] - draws[-1])})
    return [{**row, "n_pairs": len(pairs)} for row in rows]


def resampled(size: int, options: Options) -> Iterator[Array]:
    """Yield how often each unit occurs in some resamples, (units, draws) float64 each time."""
    for counts in resamples(size, options.bootstrap, options.seed):
        yield np.ascontiguousarray(counts.T, dtype=np.float64)


def bounded(value: float, drawn: Array) -> dict[str, float]:
    """Return an area with its interval, as columns."""
    low, high = interval(drawn)
    return {"auc": float(value), "auc_low": low, "auc_high": high}


def pool_numbers(pairs: pd.DataFrame, level: str) -> Ints:
    """Return the number of each pair's pool, (n,) int from 0."""
    if level == "pair":
        return np.arange(len(pairs))
    if level == "all":
        return np.zeros(len(pairs), dtype=np.int64)
    name = pairs["dataset"].astype(str)
    if level != "dataset":
        name = name + "/" + pairs[level].astype("string").fillna("").astype(str)
    return pd.factorize(name)[0]


def pool_areas(logprob: Array, pool: Ints, weight: Array, unit: Ints, counts: Array) -> Array:
    """Return the area within pools, (draws,), the mean over grammatical sentences.

    `logprob` is (n, 2), grammatical and ungrammatical; `counts` (units, draws). In a pool of
    several pairs a sentence is compared with those of the others, not with its own partner.
    """
    right = preferences(logprob[:, 0], logprob[:, 1])
    if len(np.unique(pool)) == len(pool):
        by_unit = np.zeros((len(counts), 2))
        np.add.at(by_unit, unit, np.column_stack([weight * right, weight]))
        sums = by_unit.T @ counts
        return sums[0] / sums[1]
    total, areas = np.zeros((2, counts.shape[1]))
    for number in range(pool.max() + 1):
        members = np.flatnonzero(pool == number)
        positive = np.repeat([True, False], len(members))
        rows = np.tile(members, 2)
        values = logprob[members].T.ravel()
        found = drawn_areas(values, positive, unit[rows], counts, weight[rows])
        times = weight[members, None] * counts[unit[members]]
        share, own = times.sum(axis=0), times**2
        several = (times > 0).sum(axis=0) > 1
        with np.errstate(divide="ignore", invalid="ignore"):
            area = (found * share**2 - right[members] @ own) / (share**2 - own.sum(axis=0))
        areas += np.where(several, share * area, 0.0)
        total += np.where(several, share, 0.0)
    with np.errstate(invalid="ignore"):
        return areas / total


def binormal(logprob: Array, pool: Ints, weight: Array) -> dict[str, float]:
    """Return the gap, the spread (both nats) and Φ(gap / spread) within pools."""
    gap = float(np.average(logprob[:, 0] - logprob[:, 1], weights=weight))
    if len(np.unique(pool)) == len(pool):
        difference = logprob[:, 0] - logprob[:, 1]
        variance = float(np.average((difference - gap) ** 2, weights=weight))
    else:
        good, bad = (variance_within(side, pool, weight) for side in logprob.T)
        variance = good + bad
    spread = float(np.sqrt(variance))
    predicted = float(norm.cdf(gap / spread)) if spread > 0 else float(gap > 0)
    return {"gap": gap, "spread": spread, "predicted": predicted}


def variance_within(values: Array, pool: Ints, weight: Array) -> float:
    """Return the variance of values (n,) within pools, unbiased; pools of one value say nothing."""
    size = np.bincount(pool)
    mean = np.bincount(pool, weights=values) / size
    squares = np.bincount(pool, weights=(values - mean[pool]) ** 2)
    several = size > 1
    variance = squares[several] / (size[several] - 1)
    return float(np.average(variance, weights=np.bincount(pool, weights=weight)[several]))
