r"""Logistic regression with a random intercept, by Laplace's approximation as in lme4's glmer.

    from lingprob.stats.logistic_mixed import aggregate, all_interactions, fit_mixed_logistic
    terms = all_interactions(frame[["log_length", "matched", "acceptable"]])   # -1 and +1
    fit = fit_mixed_logistic(*aggregate(frame["correct"], terms, frame["phenomenon"]))
    print(fit.table())

Cells have k successes of m trials, with logit eta = x beta + theta v and one v ~ N(0, 1) per group.
Given theta and beta, v is taken at the mode of its density, at which v = theta sum(k - m p). Minus
twice the log-likelihood is

    -2 sum ln Binomial(k | m, p) + sum over groups of v^2 + ln D,   D = 1 + theta^2 W,

with W the sum of w = m p (1 - p). The gradient is analytic: the mode's own derivatives are
dv/dbeta = -theta sum(w x) / D and dv/dtheta = (sum(k - m p) - theta v W) / D, and enter through
ln D alone. The Hessian differentiates the gradient numerically, by theta and beta together, as in
glmer with nAGQ = 1. Standard errors come from it.

A random intercept alone takes the trials of a group as independent, and slopes as equal in all
groups. `group_standard_errors` assumes neither (context, section 3).
"""

from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.special import expit, gammaln
from scipy.stats import norm

from lingprob.errors import LingprobError, refuse_values
from lingprob.stats.least_squares import INTERCEPT, finite_column, refuse_collinear

Array = NDArray[np.float64]

# lme4's tolerance of a singular fit, and the largest Newton decrement (nats) of an optimum.
SINGULAR = 1e-4
ACCEPTED = 1e-7
ITERATIONS = 100
NEGLIGIBLE = 1e-11
STEP = 1e-4


class Cells(NamedTuple):
    """Successes and trials (n,), terms x (n, p) and group (n,) int of n cells.

    Terms are at most about 1. `membership`, (groups, n), is 1 if a cell is in a group, else 0.
    """

    successes: Array
    trials: Array
    x: Array
    group: NDArray[np.intp]
    membership: Array

    def by_group(self, values: Array) -> Array:
        """Sum values (..., n) over each group's cells, to (..., groups)."""
        return values @ self.membership.T


class LaplaceOptimum(NamedTuple):
    """The optimum: `parameters` (p + 1,) are theta and beta, `modes` (groups,) are v."""

    parameters: Array
    deviance: float
    hessian: Array
    modes: Array
    newton_decrement: float


def laplace_optimum(cells: Cells) -> LaplaceOptimum:
    """Return the optimum of the deviance over theta and beta, the best from several thetas."""
    beta = _newton_of_beta(cells)
    found = [_newton(cells, np.append(theta, beta)) for theta in (1.0, 0.1)]
    return min(found, key=lambda optimum: optimum.deviance)


def deviance(cells: Cells, parameters: Array, modes: Array) -> tuple[Array, Array, Array]:
    """Return the deviance (b,), its gradient (b, p + 1) and the modes (b, groups).

    There are b vectors of `parameters` (b, p + 1). The search for the modes starts from `modes`
    (groups,). The deviance lacks the binomial constants.
    """
    theta, beta = parameters[:, :1], parameters[:, 1:]
    fixed = beta @ cells.x.T
    modes, p = _modes(cells, fixed, theta, modes)
    w = cells.trials * p * (1 - p)
    excess = cells.successes - cells.trials * p
    d = 1 + theta**2 * cells.by_group(w)
    eta = fixed + theta * modes[:, cells.group]
    logs = cells.successes * eta - cells.trials * np.logaddexp(0, eta)
    value = -2 * logs.sum(axis=1) + (modes**2).sum(axis=1) + np.log(d).sum(axis=1)
    # Derivatives of the modes by the parameters, and of ln D by the logits.
    by_beta = -theta[:, :, None] * (cells.membership @ (w[:, :, None] * cells.x)) / d[:, :, None]
    by_theta = (cells.by_group(excess) - theta * modes * cells.by_group(w)) / d
    bend = theta**2 * w * (1 - 2 * p) / d[:, cells.group]
    bends = cells.by_group(bend)
    gradient = np.empty_like(parameters)
    gradient[:, 1:] = (bend - 2 * excess) @ cells.x
    gradient[:, 1:] += theta * (bends[:, :, None] * by_beta).sum(axis=1)
    gradient[:, 0] = (bends * (modes + theta * by_theta)).sum(axis=1)
    gradient[:, 0] += 2 * (theta * cells.by_group(w) / d - modes * cells.by_group(excess)).sum(
        axis=1
    )
    return value, gradient, modes


def _modes(cells: Cells, fixed: Array, theta: Array, modes: Array) -> tuple[Array, Array]:
    """Return the modes and probabilities, (b, groups) and (b, n): Newton's method for all."""
    modes = np.broadcast_to(modes, (len(theta), len(cells.membership)))
    # Far from the mode, Newton's step is cut so that no logit moves by more than 2.
    longest = 2 / np.maximum(1.0, np.abs(theta))
    for _ in range(ITERATIONS):
        p = expit(fixed + theta * modes[:, cells.group])
        slope = theta * cells.by_group(cells.successes - cells.trials * p) - modes
        curvature = 1 + theta**2 * cells.by_group(cells.trials * p * (1 - p))
        step = np.clip(slope / curvature, -longest, longest)
        modes = modes + step
        if np.abs(step).max() < 1e-12:
            break
    return modes, expit(fixed + theta * modes[:, cells.group])


def _newton_of_beta(cells: Cells) -> Array:
    """Return beta after a few Newton steps of the model without random effects."""
    beta = np.zeros(cells.x.shape[1])
    for _ in range(8):
        p = expit(cells.x @ beta)
        weights = np.maximum(cells.trials * p * (1 - p), 1e-6)
        information = (cells.x * weights[:, None]).T @ cells.x
        step = np.linalg.solve(information, cells.x.T @ (cells.successes - cells.trials * p))
        beta = beta + step / max(1.0, float(np.abs(step).max()))
    return beta


def _newton(cells: Cells, parameters: Array) -> LaplaceOptimum:
    """Return the optimum that damped Newton steps reach, downhill along the Hessian's axes."""
    value, gradient, modes = _at(cells, parameters, np.zeros(len(cells.membership)))
    for _ in range(ITERATIONS):
        hessian = _hessian(cells, parameters, modes)
        curvature, axes = np.linalg.eigh(hessian)
        along = axes.T @ gradient
        steep = np.maximum(np.abs(curvature), 1e-9 * np.abs(curvature).max())
        decrement = float((along**2 / steep).sum() / 4)
        if decrement < NEGLIGIBLE:
            break
        step, share = axes @ (-along / steep), 1.0
        step /= max(1.0, float(np.abs(step).max() / 3))
        while True:
            there, slope, moved = _at(cells, parameters + share * step, modes)
            if there < value + 1e-12 * abs(value) or share < 1e-8:
                break
            share /= 2
        parameters = parameters + share * step
        value, gradient, modes = there, slope, moved
    k, m = cells.successes, cells.trials
    value -= 2 * float((gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)).sum())
    return LaplaceOptimum(parameters, value, hessian, modes, decrement)


def _at(cells: Cells, parameters: Array, modes: Array) -> tuple[float, Array, Array]:
    """Return the `deviance`, gradient and modes at one vector of parameters (p + 1,)."""
    value, gradient, modes = deviance(cells, parameters[None], modes)
    return float(value[0]), gradient[0], modes[0]


def _hessian(cells: Cells, parameters: Array, modes: Array) -> Array:
    """Return the Hessian (p + 1, p + 1) by central differences of the gradient."""
    moved = STEP * np.eye(len(parameters))
    _, gradient, _ = deviance(cells, np.vstack([parameters + moved, parameters - moved]), modes)
    hessian = (gradient[: len(moved)] - gradient[len(moved) :]) / (2 * STEP)
    return (hessian + hessian.T) / 2


@dataclass(frozen=True)
class MixedLogisticFit:
    """A logistic regression with a random intercept, fitted to cells in groups.

    - estimates, standard_errors: Series by term, on the logit scale.
    - sd: standard deviation between groups. singular: it is (nearly) zero.
    - log_likelihood: nats, with the binomial constants.
    - random_effects: the groups' deviations at their mode.
    - newton_decrement: gain in log-likelihood (nats) of another Newton step.
    """

    cells: Cells
    estimates: pd.Series
    standard_errors: pd.Series
    sd: float
    log_likelihood: float
    random_effects: pd.Series
    newton_decrement: float

    @property
    def singular(self) -> bool:
        """Return whether the variance between groups is (nearly) zero."""
        return self.sd < SINGULAR

    def table(self) -> pd.DataFrame:
        """Return term, estimate, std_error, z and p (two-sided, Wald), one row per term."""
        z = self.estimates / self.standard_errors
        columns = {"estimate": self.estimates, "std_error": self.standard_errors, "z": z}
        table = pd.DataFrame(columns).assign(p=2 * norm.sf(z.abs()))
        return table.rename_axis("term").reset_index()


def fit_mixed_logistic(
    successes: ArrayLike, trials: ArrayLike, terms: pd.DataFrame, group: ArrayLike
) -> MixedLogisticFit:
    """Return the fit of successes of trials (n,) by terms (n, k) and a random intercept by group.

    Code categories as 1 and -1. Raises LingprobError for missing values, numbers that are no
    counts, a single group, constant or collinear terms, terms that separate successes from
    failures, and likelihoods without a maximum.
    """
    cells, groups = checked_cells(successes, trials, terms, group)
    names = [INTERCEPT, *map(str, terms)]
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
        cells=cells,
        estimates=pd.Series(optimum.parameters[1:] / scale, index=names),
        standard_errors=pd.Series(np.sqrt(np.diag(covariance)[1:]) / scale, index=names),
        sd=float(abs(optimum.parameters[0])),
        log_likelihood=-optimum.deviance / 2,
        random_effects=pd.Series(optimum.parameters[0] * optimum.modes, index=groups),
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
    correct: ArrayLike, terms: pd.DataFrame, group: ArrayLike
) -> tuple[Array, Array, pd.DataFrame, pd.Series]:
    """Return the arguments of `fit_mixed_logistic` for single trials, `correct` or not.

    Trials of a group with equal values of the terms are counted together. Raises LingprobError if
    `correct` is missing.
    """
    frame = terms.reset_index(drop=True)
    keys = [pd.Series(np.asarray(group), name="group"), *(frame[name] for name in frame)]
    successes = pd.Series(np.asarray(correct, dtype=np.float64))
    refuse_values("correct", successes, successes.isna().to_numpy(), "drop such trials")
    sums = successes.groupby(keys, sort=True, dropna=False).agg(["sum", "size"])
    values = sums.index.to_frame(index=False)
    trials = sums["size"].to_numpy(np.float64)
    return sums["sum"].to_numpy(), trials, values[list(terms)], values["group"]


def checked_cells(
    successes: ArrayLike, trials: ArrayLike, terms: pd.DataFrame, group: ArrayLike
) -> tuple[Cells, pd.Index]:
    """Return the cells, with an intercept as their first term, and the groups."""
    counts = [np.asarray(values, dtype=np.float64) for values in (successes, trials)]
    labels = pd.Series(np.asarray(group))
    if {len(values) for values in (*counts, labels)} != {len(terms)} or not len(terms):
        raise LingprobError(
            f"successes, trials, terms and group have {len(counts[0])}, {len(counts[1])}, "
            f"{len(terms)} and {len(labels)} rows: give one row per cell, and at least one."
        )
    for name, values in zip(("successes", "trials"), counts, strict=True):
        # For missing and infinite values the remainder is NaN.
        refuse_values(name, values, (values < 0) | (values % 1 != 0), "it must be a count")
    above = counts[0] > counts[1]
    refuse_values("successes", counts[0], above, "they are at most the trials")
    for name in terms:
        finite_column(terms, name)
    x = np.column_stack([np.ones(len(terms)), terms.to_numpy(dtype=np.float64)])
    if labels.isna().any():
        raise LingprobError(f"group, row {int(labels.isna().argmax())}: the group is missing.")
    codes, groups = pd.factorize(labels, sort=True)
    if len(groups) < 2:
        raise LingprobError(
            f"there is one group, {groups[0]}: differences between groups need at least two."
        )
    names = [INTERCEPT, *map(str, terms)]
    filled = counts[1] > 0
    refuse_collinear("cells with trials", names, x[filled])
    of_group = pd.DataFrame({"successes": counts[0], "trials": counts[1]}).groupby(codes).sum()
    if (of_group["successes"].eq(0) | of_group["successes"].eq(of_group["trials"])).all():
        raise LingprobError(
            "every group has successes only or failures only: the variance between groups would "
            "be infinite. Give more items."
        )
    _check_separation(counts[0][filled], counts[1][filled], x[filled], names)
    membership = (codes == np.arange(len(groups))[:, None]).astype(np.float64)
    return Cells(counts[0], counts[1], x, codes, membership), groups


def _check_separation(successes: Array, trials: Array, x: Array, names: list[str]) -> None:
    """Raise LingprobError if a combination of terms separates successes from failures.

    Its coefficient would be infinite. In cells with both outcomes the combination must be zero. A
    linear programme looks for one that fits the other cells (Konis's test). Cells with equal terms
    count as one, because there may be millions of single trials.
    """
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


def group_standard_errors(fit: MixedLogisticFit) -> pd.Series:
    """Return standard errors by term for groups that are a sample: a jackknife over groups.

    Errors allow any dependence within a group, such as slopes that differ between groups. One
    Newton step from the fit leaves out each group, with the same variance between groups. Use the
    errors with Student's t with (groups - 1) degrees of freedom. NaN if a group cannot be left out.
    """
    cells, groups = fit.cells, len(fit.random_effects)
    p = expit(cells.x @ fit.estimates.to_numpy() + fit.random_effects.to_numpy()[cells.group])
    weights = cells.trials * p * (1 - p)
    residual = cells.successes - cells.trials * p
    scores, information = [], []
    for number in range(groups):
        here = cells.group == number
        of_group, w = cells.x[here], weights[here]
        own = of_group.T @ (of_group * w[:, None])
        if not fit.singular:
            shared = w @ of_group
            own -= np.outer(shared, shared) / (w.sum() + fit.sd**-2)
        scores.append(residual[here] @ of_group)
        information.append(own)
    others = np.sum(information, axis=0) - np.array(information)
    try:
        changes = np.linalg.solve(others, np.array(scores)[..., None])[..., 0]
    except np.linalg.LinAlgError:
        return pd.Series(np.nan, index=fit.estimates.index)
    spread = ((changes - changes.mean(axis=0)) ** 2).sum(axis=0)
    return pd.Series(np.sqrt((groups - 1) / groups * spread), index=fit.estimates.index)
