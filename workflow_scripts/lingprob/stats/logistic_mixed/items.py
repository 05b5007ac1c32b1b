"""Standard errors of a mixed logistic regression that hold where items recur across conditions.

A random intercept takes an item's trials under different prefixes for independent. Here items, not
trials, count as what was sampled, the groups given: a sandwich of the estimating equations with
scores summed by item.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import expit

from lingprob.errors import LingprobError
from lingprob.stats.logistic_mixed.fit import MixedLogisticFit, checked_cells
from lingprob.stats.logistic_mixed.laplace import Cells

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
    weights, residual = p * (1 - p), cells.successes - p
    information = cells.x.T @ (cells.x * weights[:, None])
    scores = _sums(items.of_row, cells.x * residual[:, None])
    # Random effects are coefficients of group columns under a ridge of 1 / variance; without
    # variance between groups they are none. Those columns are mostly zero, and never made.
    if not fit.singular:
        shared = _sums(cells.group, cells.x * weights[:, None])
        within = np.diag(np.bincount(cells.group, weights) + fit.sd**-2)
        information = np.block([[information, shared.T], [shared, within]])
        of_item = np.bincount(items.of_row, residual)
        own_group = items.group[:, None] == np.arange(len(groups))
        scores = np.column_stack([scores, own_group * of_item[:, None]])
    bread = np.linalg.inv(information)
    sizes = np.bincount(items.group)
    centred = scores - (_sums(items.group, scores) / sizes[:, None])[items.group]
    centred *= np.sqrt(sizes / (sizes - 1))[items.group, None]
    sandwich = bread @ (centred.T @ centred) @ bread
    return pd.Series(np.sqrt(np.diag(sandwich)[: len(names)]), index=names)


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
