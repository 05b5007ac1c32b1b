"""What separates: the gap of grammaticality against the spread of messages (Hu et al. 2026, §3).

A grammatical sentence is compared with an ungrammatical one of the same pair, then of the same
paradigm, phenomenon, data set, and of any: the gap stays and the spread grows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import norm

from lingprob.papers.string_probability.data import Options, pairs_of, table_of, units
from lingprob.papers.string_probability.separation import POOLED
from lingprob.regression.proportions import preferences
from lingprob.regression.resampling import interval, resamples
from lingprob.regression.roc import drawn_areas

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
# From fully paired to unpaired.
POOLS = ("pair", "paradigm", "phenomenon", "dataset", "all")
LENGTH_GROUPS = ("short", "middle", "long")
FEWEST = 10


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
    """Return a row a pool, and one for what pairing gains over the widest of them.

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
