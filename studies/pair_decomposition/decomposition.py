"""Parts of a correlation between groups of sentences and within them.

With f the scores of a linking function and y the ratings, cov(f, y) is the covariance of the
groups' means, weighted by their sizes, plus that of the deviations from them. Divided by sd(f)
sd(y), the two parts add up to r. Groups are minimal pairs, paradigms or articles. A gain between
pairs comes from comparing sentences of different content.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lingprob.errors import LingprobError
from lingprob.stats.linking import deviations_about, drawn_units
from lingprob.stats.linking_fits import (
    LINKING_FUNCTIONS,
    Array,
    Fit,
    checked_inputs,
    covariances,
    fit_design,
    needs_unigrams,
    score_covariances,
    scoring_slopes,
    weighted_moments,
)

QUANTITIES = ["r", "between", "within", "r_between", "r_within", "ordered"]
PAIR = 2
# Of whitened terms (standard deviations), whose last bits differ in sentences that are alike.
ROUNDING = 1e-10


class Grouping(NamedTuple):
    """One way to group n sentences: each one's group from 0, (n,) int, and the number of groups.

    `better` and `worse`, (pairs,) int: the sentences of each pair whose ratings differ. They are
    empty if groups are not pairs.
    """

    name: str
    group: NDArray[np.int64]
    groups: int
    better: NDArray[np.int64]
    worse: NDArray[np.int64]


def decompose(
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    *,
    groupings: Mapping[str, ArrayLike],
    clusters: ArrayLike,
    linking_functions: Iterable[str] = LINKING_FUNCTIONS,
    bootstrap: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Decompose the in-sample r of linking functions, one row per function and grouping.

    The arguments before the star and `clusters` are those of `resample_linking_functions`. Each
    group must lie within a cluster.

    Columns: grouping, linking_function, groups and n (int), and, float64 with _low and _high:
    r; between and within, which add up to it; r_between, r of the groups' means, and r_within, r of
    the deviations from them; ordered, the share of pairs of which it scores the better rated
    sentence higher (NaN if groups are not pairs), the paired gain of each over SLOR's (`gain_...`),
    and `gain_difference`, gain_r_between minus gain_r_within (NaN without SLOR).

    Raises LingprobError as `resample_linking_functions` does, and for a group in two clusters.
    """
    inputs = checked_inputs(logprob, unigram_logprob, n_tokens, rating)
    names = [
        name
        for name in linking_functions
        if "unigram_logprob" in inputs or not needs_unigrams(name)
    ]
    fits = {name: fit_design(name, inputs) for name in names}
    counts = drawn_units(clusters, len(inputs["rating"]), bootstrap, seed)
    weights = np.concatenate([np.ones((1, counts.shape[1])), counts])
    rows = []
    for name, ids in groupings.items():
        grouping = _grouping(name, ids, clusters, inputs["rating"])
        drawn = {fit.name: _quantities(fit, grouping, weights) for fit in fits.values()}
        rows += _rows(drawn, grouping, len(inputs["rating"]), confidence)
    return pd.DataFrame(rows)


def _grouping(name: str, ids: ArrayLike, clusters: ArrayLike, rating: Array) -> Grouping:
    group, labels = pd.factorize(pd.Series(ids).reset_index(drop=True))
    by_group = pd.Series(np.asarray(clusters)).groupby(group).nunique()
    if (by_group > 1).any():
        raise LingprobError(
            f"{name} {labels[int(by_group.gt(1).to_numpy().argmax())]} is in several of the "
            "clusters that are resampled. Resample coarser clusters, or leave this grouping out."
        )
    none = np.array([], dtype=np.int64)
    grouping = Grouping(name, group, len(labels), none, none)
    if not (np.bincount(group) == PAIR).all():
        return grouping
    order = np.lexsort((-rating, group)).reshape(-1, PAIR)
    order = order[rating[order[:, 0]] > rating[order[:, 1]]]
    return grouping._replace(better=order[:, 0], worse=order[:, 1])


def _quantities(fit: Fit, grouping: Grouping, weights: Array) -> dict[str, Array]:
    """Return `QUANTITIES` of fits to each row of weights (draws, n), (draws,) each."""
    sums = np.zeros((grouping.groups, fit.columns.shape[1]))
    np.add.at(sums, grouping.group, fit.columns)
    means = (sums / np.bincount(grouping.group)[:, None])[grouping.group]
    moments = weighted_moments({"all": fit.columns, "means": means}, weights)
    slopes = scoring_slopes(fit, moments["all"])
    total, between = (covariances(moments[key]) for key in ("all", "means"))
    shared, of_scores, of_rating = score_covariances(total, slopes)
    shared_b, of_scores_b, of_rating_b = score_covariances(between, slopes)
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = np.sqrt(of_scores * of_rating)
        found = {
            "r": shared / spread,
            "between": shared_b / spread,
            "within": (shared - shared_b) / spread,
            "r_between": shared_b / np.sqrt(of_scores_b * of_rating_b),
            "r_within": (shared - shared_b)
            / np.sqrt((of_scores - of_scores_b) * (of_rating - of_rating_b)),
        }
    return found | {"ordered": _ordered(fit, grouping, slopes, weights)}


def _ordered(fit: Fit, grouping: Grouping, slopes: Array, weights: Array) -> Array:
    """Return the weighted share of pairs whose better sentence scores higher. Ties count half."""
    if not len(grouping.better):
        return np.full(len(weights), np.nan)
    terms = fit.columns[:, 1:-1]
    higher = slopes @ (terms[grouping.better] - terms[grouping.worse]).T
    of_pairs = weights[:, grouping.better]
    tied = np.abs(higher) <= ROUNDING * np.linalg.norm(slopes, axis=1, keepdims=True)
    right = np.where(tied, 0.5, higher > 0)
    return (right * of_pairs).sum(axis=1) / of_pairs.sum(axis=1)


def _rows(
    drawn: dict[str, dict[str, Array]], grouping: Grouping, n: int, confidence: float
) -> list[dict[str, object]]:
    """Return a row a function: values of the first, unweighted fit, intervals of the others."""
    nothing = np.full(len(next(iter(drawn.values()))["r"]), np.nan)
    rows = []
    for name, of_function in drawn.items():
        columns = dict(of_function)
        for quantity in QUANTITIES:
            slor = drawn.get("slor", {}).get(quantity, nothing)
            columns[f"gain_{quantity}"] = (
                nothing if name == "slor" else of_function[quantity] - slor
            )
        columns["gain_difference"] = columns["gain_r_between"] - columns["gain_r_within"]
        row: dict[str, object] = {"grouping": grouping.name, "linking_function": name}
        row |= {"groups": grouping.groups, "n": n}
        for column, values in columns.items():
            row[column] = float(values[0])
            row |= deviations_about(float(values[0]), values[1:], name, column, confidence)
        rows.append(row)
    return rows
