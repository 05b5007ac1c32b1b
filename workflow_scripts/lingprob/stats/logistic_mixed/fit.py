"""Logistic regression with a random intercept, by Laplace's approximation as lme4's glmer has it.

    from lingprob.stats.logistic_mixed.fit import aggregate, fit_mixed_logistic
    from lingprob.stats.logistic_mixed.fit import all_interactions
    terms = all_interactions(frame[["log_length", "matched", "acceptable"]])   # -1 and +1
    cells = aggregate(frame["correct"], terms, frame["phenomenon"])
    fit = fit_mixed_logistic(cells.successes, cells.trials, cells.terms, cells.group)
    print(fit.table())

Successes of trials in cells, logit of their probability X beta + theta v, one v ~ N(0, 1) a group.
The log-likelihood integrates v out by Laplace's approximation at its mode; theta and beta are
optimised together and standard errors are from the Hessian by both, as in glmer with nAGQ = 1.
A random intercept alone takes the trials of a cell for independent. If items recur across cells,
that is anticonservative: `item_standard_errors` takes items, not trials, as what was sampled, the
groups given (a sandwich of the estimating equations with scores summed by item).
(context, section 3)
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import expit
from scipy.stats import norm

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.formula import INTERCEPT
from lingprob.stats.logistic_mixed.laplace import Cells, cells_in_groups, laplace_optimum

Array = NDArray[np.float64]

# lme4's tolerance of a singular fit, and what counts as an optimum (nats left to gain).
SINGULAR = 1e-4
ACCEPTED = 1e-7


class Aggregated(NamedTuple):
    """Counts of the observations that share a group and the values of all terms."""

    successes: Array
    trials: Array
    terms: pd.DataFrame
    group: pd.Series


@dataclass(frozen=True)
class MixedLogisticFit:
    """A logistic regression with a random intercept, fitted to cells in groups.

    `estimates`, `standard_errors`, `z`, `p` (two-sided, Wald) are Series by term, on the logit
    scale; `sd` is the standard deviation between groups, `singular` tells that it is (nearly)
    zero. `log_likelihood` (nats) has the binomial constants. `random_effects` are the groups'
    deviations at their mode. `newton_decrement` is what another step would gain (nats).
    """

    estimates: pd.Series
    standard_errors: pd.Series
    sd: float
    log_likelihood: float
    random_effects: pd.Series
    n_cells: int
    n_trials: int
    newton_decrement: float

    @property
    def singular(self) -> bool:
        """Whether groups differ no more than chance explains."""
        return self.sd < SINGULAR

    @property
    def z(self) -> pd.Series:
        """Estimates over their standard errors."""
        return self.estimates / self.standard_errors

    @property
    def p(self) -> pd.Series:
        """Two-sided p-values of z under the normal distribution."""
        return pd.Series(2 * norm.sf(np.abs(self.z)), index=self.estimates.index)

    def table(self) -> pd.DataFrame:
        """Return term, estimate, std_error, z and p, a row a term."""
        columns = {"estimate": self.estimates, "std_error": self.standard_errors,
                   "z": self.z, "p": self.p}  # fmt: skip
        return pd.DataFrame(columns).rename_axis("term").reset_index()


def fit_mixed_logistic(
    successes: ArrayLike, trials: ArrayLike, terms: pd.DataFrame, group: ArrayLike
) -> MixedLogisticFit:
    """Fit successes (n,) of trials (n,) to terms (n, k) and an intercept, random by group (n,).

    Code categories explicitly, as +1 and -1. Raises LingprobError for values that are missing or
    no counts, a single group, terms that are constant or determine one another, successes that
    some combination of the terms separates from failures, and likelihoods without a maximum.
    """
    cells, names, groups = checked_cells(successes, trials, terms, group)
    scale = np.abs(cells.x).max(axis=0)
    optimum = laplace_optimum(cells._replace(x=cells.x / scale))
    flat = np.linalg.eigvalsh(optimum.hessian)[0] <= 0
    if flat or optimum.newton_decrement > ACCEPTED:
        raise LingprobError(
            "the likelihood has no maximum at finite values: too few cells have both successes "
            "and failures. Give more items, or fewer terms."
        )
    covariance = 2 * np.linalg.inv(optimum.hessian)
    return MixedLogisticFit(
        estimates=pd.Series(optimum.parameters[1:] / scale, index=names),
        standard_errors=pd.Series(np.sqrt(np.diag(covariance)[1:]) / scale, index=names),
        sd=float(abs(optimum.parameters[0])),
        log_likelihood=-optimum.deviance / 2,
        random_effects=pd.Series(optimum.parameters[0] * optimum.modes, index=groups),
        n_cells=len(cells.successes),
        n_trials=int(cells.trials.sum()),
        newton_decrement=optimum.newton_decrement,
    )


def all_interactions(columns: pd.DataFrame) -> pd.DataFrame:
    """Return the columns and the products of every two, three, ... of them, named 'a:b'."""
    names = list(columns)
    subsets = [subset for size in range(1, len(names) + 1) for subset in combinations(names, size)]
    return pd.DataFrame(
        {":".join(subset): columns[list(subset)].prod(axis=1) for subset in subsets},
        index=columns.index,
    )


def aggregate(
    correct: ArrayLike, terms: pd.DataFrame, group: ArrayLike, trials: ArrayLike | None = None
) -> Aggregated:
    """Sum observations of one group with the same terms; `trials` of each default to one."""
    counted = np.ones(len(terms)) if trials is None else np.asarray(trials, dtype=np.float64)
    frame = terms.reset_index(drop=True)
    keys = [pd.Series(np.asarray(group), name="group"), *(frame[name] for name in frame)]
    sums = pd.DataFrame(
        {"successes": np.asarray(correct, dtype=np.float64), "trials": counted}
    ).groupby(keys, sort=True, dropna=False).sum()  # fmt: skip
    values = sums.index.to_frame(index=False)
    return Aggregated(
        sums["successes"].to_numpy(), sums["trials"].to_numpy(), values[list(terms)],
        values["group"],
    )  # fmt: skip


def checked_cells(
    successes: ArrayLike, trials: ArrayLike, terms: pd.DataFrame, group: ArrayLike
) -> tuple[Cells, list[str], pd.Index]:
    """Return the cells with an intercept first, names of the coefficients, and the groups."""
    counts = [np.asarray(values, dtype=np.float64) for values in (successes, trials)]
    labels = pd.Series(np.asarray(group))
    if {len(values) for values in (*counts, labels)} != {len(terms)} or not len(terms):
        raise LingprobError(
            f"successes, trials, terms and group have {len(counts[0])}, {len(counts[1])}, "
            f"{len(terms)} and {len(labels)} rows: they must have one row a cell, and one at least."
        )
    for name, values in zip(("successes", "trials"), counts, strict=True):
        # What is missing or infinite leaves no remainder that equals zero.
        _refuse(name, values, (values < 0) | (values % 1 != 0), "a count")
    _refuse("successes", counts[0], counts[0] > counts[1], "at most the trials")
    for name in terms:
        values = terms[name].to_numpy(dtype=np.float64)
        _refuse(str(name), values, ~np.isfinite(values), "finite")
    if labels.isna().any():
        raise LingprobError(f"group, row {int(labels.isna().argmax())}: the group is missing.")
    codes, groups = pd.factorize(labels, sort=True)
    if len(groups) < 2:
        raise LingprobError(
            f"there is one group, {groups[0]}: differences between groups need two at least."
        )
    x = np.column_stack([np.ones(len(terms)), terms.to_numpy(dtype=np.float64)])
    names = [INTERCEPT, *map(str, terms)]
    filled = counts[1] > 0
    _check_terms(x[filled], names)
    of_group = pd.DataFrame({"successes": counts[0], "trials": counts[1]}).groupby(codes).sum()
    if (of_group["successes"].eq(0) | of_group["successes"].eq(of_group["trials"])).all():
        raise LingprobError(
            "every group has successes only or failures only: the variance between groups would "
            "be infinite. Give more items."
        )
    _check_separation(counts[0][filled], counts[1][filled], x[filled], names)
    return cells_in_groups(counts[0], counts[1], x, codes, len(groups)), names, groups


def _refuse(name: str, values: Array, at_fault: NDArray[np.bool_], wanted: str) -> None:
    if at_fault.any():
        row = int(at_fault.argmax())
        raise LingprobError(
            f"{name}, row {row}: {values[row]:g} ({int(at_fault.sum())} such rows); it must be "
            f"{wanted}."
        )


def _check_terms(x: Array, names: list[str]) -> None:
    scaled = x / np.maximum(np.abs(x).max(axis=0), 1e-300)
    for place in range(1, len(names)):
        if np.linalg.matrix_rank(scaled[:, : place + 1], tol=1e-8) <= place:
            raise LingprobError(
                f"{names[place]} is constant, or determined by {', '.join(names[:place])}, in "
                "these cells. Leave it out."
            )


def _check_separation(successes: Array, trials: Array, x: Array, names: list[str]) -> None:
    """Raise LingprobError if a combination of terms is never low at successes, high at failures.

    Its coefficient would grow without end. Cells with both pin it to zero; a linear programme
    looks for one that the other cells allow (Konis's test). Cells with the same terms count as one:
    single trials come by the million.
    """
    from scipy.optimize import linprog

    x, cell = np.unique(x, axis=0, return_inverse=True)
    successes, trials = (
        np.bincount(cell, counts).astype(np.float64) for counts in (successes, trials)
    )
    mixed = (successes > 0) & (successes < trials)
    if np.linalg.matrix_rank(x[mixed]) == x.shape[1]:
        return
    signed = np.where(successes == 0, -1.0, 1.0)[~mixed, None] * x[~mixed]
    found = linprog(
        -signed.sum(axis=0),
        A_ub=-signed,
        b_ub=np.zeros(len(signed)),
        A_eq=x[mixed] if mixed.any() else None,
        b_eq=np.zeros(mixed.sum()) if mixed.any() else None,
        bounds=(-1, 1),
    )
    if found.status == 0 and -found.fun > 1e-7:
        terms = [name for name, weight in zip(names, found.x, strict=True) if abs(weight) > 1e-7]
        raise LingprobError(
            f"successes and failures are separated by {', '.join(terms)}: the estimates would be "
            "infinite. Leave such a term out, or give more items."
        )


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
