"""Standard errors of a mixed logistic regression that hold where items recur across conditions.

A random intercept takes an item's trials under different prefixes for independent. These two
count items, not trials, as what was sampled, the groups given: a sandwich of the estimating
equations with scores summed by item, and refits to items drawn with replacement in each group.
"""

from __future__ import annotations

import logging
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from lingprob.errors import LingprobError
from lingprob.progress import Progress
from lingprob.regression.logistic_mixed.fit import MixedLogisticFit, checked_cells
from lingprob.regression.logistic_mixed.laplace import Cells, cells_in_groups, laplace_optimum

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]


class Items(NamedTuple):
    """Each observation's item as a number (n,), and each item's group (number of items,)."""

    of_row: NDArray[np.intp]
    group: NDArray[np.intp]


def item_standard_errors(
    fit: MixedLogisticFit,
    correct: ArrayLike,
    terms: pd.DataFrame,
    group: ArrayLike,
    item: ArrayLike,
) -> pd.Series:
    """Return standard errors by term, robust to any dependence between an item's observations.

    `fit` is the model of these observations, counts aggregated or not; `correct` (n,) is 0 or 1
    and `item` (n,) names what recurs. The variance between groups is taken as known; scores of
    items are centred in each group. Raises LingprobError as fit_mixed_logistic, and for items in
    two groups and groups with a single item.
    """
    cells, names, groups = checked_cells(correct, np.ones(len(terms)), terms, group)
    items = _items(cells, groups, item)
    modes = fit.random_effects.reindex(groups).to_numpy()
    p = expit(cells.x @ fit.estimates[names].to_numpy() + modes[cells.group])
    # Random effects are coefficients of group columns under a ridge of 1 / variance; without
    # variance between groups they are none.
    columns = cells.x
    ridge = np.zeros(len(names))
    if not fit.singular:
        columns = np.column_stack([columns, cells.group[:, None] == np.arange(len(groups))])
        ridge = np.append(ridge, np.full(len(groups), fit.sd**-2))
    weights = p * (1 - p)
    bread = np.linalg.inv((columns * weights[:, None]).T @ columns + np.diag(ridge))
    scores = _sums(items.of_row, columns * (cells.successes - p)[:, None])
    sizes = np.bincount(items.group)
    centred = scores - (_sums(items.group, scores) / sizes[:, None])[items.group]
    centred *= np.sqrt(sizes / (sizes - 1))[items.group, None]
    sandwich = bread @ (centred.T @ centred) @ bread
    return pd.Series(np.sqrt(np.diag(sandwich)[: len(names)]), index=names)


def bootstrap_by_item(
    correct: ArrayLike,
    terms: pd.DataFrame,
    group: ArrayLike,
    item: ArrayLike,
    *,
    draws: int = 200,
    confidence: float = 0.95,
    seed: int = 0,
) -> pd.DataFrame:
    """Refit to items drawn with replacement in each group; return a row a term.

    Columns: term, std_error, low, high (a percentile interval). Arguments and errors as
    item_standard_errors. Refits without a finite optimum are logged and left out.
    """
    if draws < 2 or not 0 < confidence < 1:
        raise LingprobError(f"draws={draws}, confidence={confidence}: need 2 draws, 0 to 1.")
    cells, names, groups = checked_cells(correct, np.ones(len(terms)), terms, group)
    items = _items(cells, groups, item)
    whole, counts, tried = _counts(cells, terms, items)
    scale = np.abs(whole.x).max(axis=0)
    whole = whole._replace(x=whole.x / scale)
    start = laplace_optimum(whole).parameters
    generator = np.random.default_rng(seed)
    members = [np.flatnonzero(items.group == number) for number in range(len(groups))]
    estimates = np.full((draws, len(names)), np.nan)
    with Progress(draws, "refits to resampled items", "refits") as progress:
        for draw in range(draws):
            times = np.concatenate([
                np.bincount(generator.integers(len(own), size=len(own)), minlength=len(own))
                for own in members
            ])[np.argsort(np.concatenate(members))]  # fmt: skip
            drawn = whole._replace(successes=times @ counts, trials=times @ tried)
            estimates[draw] = _refit(drawn, start) / scale
            progress.advance()
    finite = estimates[np.isfinite(estimates).all(axis=1)]
    if len(finite) < draws:
        logger.warning("%d of %d refits have no finite optimum", draws - len(finite), draws)
    if len(finite) < 2:
        raise LingprobError("no two refits to resampled items have an optimum: too few items.")
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    low, high = np.quantile(finite, tails, axis=0)
    return pd.DataFrame(
        {"term": names, "std_error": finite.std(axis=0, ddof=1), "low": low, "high": high}
    )


def _refit(cells: Cells, start: Array) -> Array:
    optimum = laplace_optimum(cells, start)
    settled = optimum.newton_decrement < 1e-7 and np.abs(optimum.parameters).max() < 30
    return optimum.parameters[1:] if settled else np.full(len(start) - 1, np.nan)


def _counts(cells: Cells, terms: pd.DataFrame, items: Items) -> tuple[Cells, csr_array, csr_array]:
    """Return the aggregated cells, and items by cells: each item's successes and trials."""
    cell = pd.DataFrame(np.column_stack([cells.group, cells.x])).groupby(
        list(range(cells.x.shape[1] + 1)), sort=True
    )
    number, first = cell.ngroup().to_numpy(), cell.head(1).index
    shape = (len(items.group), len(first))
    counts, trials = (
        csr_array((values, (items.of_row, number)), shape=shape)
        for values in (cells.successes, cells.trials)
    )
    order = np.argsort(number[first])
    rows = np.asarray(first)[order]
    whole = cells_in_groups(
        counts.sum(axis=0), trials.sum(axis=0), cells.x[rows], cells.group[rows], cells.n_groups
    )
    return whole, counts, trials


def _items(cells: Cells, groups: pd.Index, item: ArrayLike) -> Items:
    labels = pd.Series(np.asarray(item))
    if len(labels) != len(cells.x) or labels.isna().any():
        raise LingprobError(
            f"item has {labels.notna().sum()} values for {len(cells.x)} rows: name every row's."
        )
    codes, names = pd.factorize(labels)
    pairs = pd.DataFrame({"item": codes, "group": cells.group}).drop_duplicates()
    if len(pairs) > len(names):
        at_fault = pairs["item"][pairs["item"].duplicated()].iloc[0]
        raise LingprobError(
            f"item {names[at_fault]} is in two groups. Give items of different groups ids of "
            "their own."
        )
    group = pairs.sort_values("item")["group"].to_numpy()
    sizes = np.bincount(group, minlength=len(groups))
    if (sizes < 2).any():
        raise LingprobError(
            f"{groups[int(sizes.argmin())]} has a single item: no variation between its items "
            "can be estimated. Give more items of it, or leave it out."
        )
    return Items(codes, group)


def _sums(codes: NDArray[np.intp], values: Array) -> Array:
    """Sum rows of values (n, c) by code."""
    shape = (int(codes.max()) + 1, len(codes))
    return csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=shape) @ values
