r"""Laplace's approximation of the likelihood of a logistic model with one random intercept.

A group's cells have successes k of m trials with logit eta = x beta + theta v, v ~ N(0, 1). Given
theta and beta, v is taken at the mode of its density, where v = theta sum(k - m p), and minus
twice the log-likelihood is

    -2 sum ln Binomial(k | m, p) + sum over groups of v^2 + ln D,   D = 1 + theta^2 W,

with W the sum of w = m p (1 - p). The gradient is analytic: the mode's own derivatives are
dv/dbeta = -theta sum(w x) / D and dv/dtheta = (sum(k - m p) - theta v W) / D, and enter through
ln D alone. The Hessian differentiates the gradient numerically.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln

Array = NDArray[np.float64]

ITERATIONS = 100
NEGLIGIBLE = 1e-11
STEP = 1e-4


class Cells(NamedTuple):
    """Counts (n,), terms (n, p) at most about 1, each cell's group as a number (n,).

    `membership`, (groups, n), is 1 where a cell is in a group; see `cells_in_groups`.
    """

    successes: Array
    trials: Array
    x: Array
    group: NDArray[np.intp]
    membership: Array

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.membership)

    def by_group(self, values: Array) -> Array:
        """Sum values (..., n) over each group's cells, to (..., groups)."""
        return values @ self.membership.T


class LaplaceOptimum(NamedTuple):
    """The optimum: `parameters` are theta, then beta; `modes` are v of each group."""

    parameters: Array
    deviance: float
    hessian: Array
    modes: Array
    newton_decrement: float


def cells_in_groups(
    successes: Array, trials: Array, x: Array, group: NDArray[np.intp], n_groups: int
) -> Cells:
    """Return the cells, with the membership of groups 0 to n_groups - 1."""
    membership = (group == np.arange(n_groups)[:, None]).astype(np.float64)
    return Cells(successes, trials, x, group, membership)


def laplace_optimum(cells: Cells) -> LaplaceOptimum:
    """Minimise the deviance over theta and beta from several thetas."""
    beta = _newton_of_beta(cells)
    found = [_newton(cells, np.append(theta, beta)) for theta in (1.0, 0.1)]
    return min(found, key=lambda optimum: optimum.deviance)


def deviance(cells: Cells, parameters: Array, modes: Array) -> tuple[Array, Array, Array]:
    """Return the deviance (b,), its gradient (b, p + 1) and the modes (b, groups).

    They are those of each of b vectors of `parameters` (b, p + 1), the modes sought from `modes`
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
    # How the modes follow the parameters, and ln D the logits.
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


def _constant(cells: Cells) -> float:
    k, m = cells.successes, cells.trials
    return float(-2 * (gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)).sum())


def _modes(cells: Cells, fixed: Array, theta: Array, modes: Array) -> tuple[Array, Array]:
    """Return the modes and probabilities, (b, groups) and (b, n): Newton's method for all."""
    modes = np.broadcast_to(modes, (len(theta), cells.n_groups))
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
    """Return a few Newton steps' estimates of beta without random effects."""
    beta = np.zeros(cells.x.shape[1])
    for _ in range(8):
        p = expit(cells.x @ beta)
        weights = np.maximum(cells.trials * p * (1 - p), 1e-6)
        information = (cells.x * weights[:, None]).T @ cells.x
        step = np.linalg.solve(information, cells.x.T @ (cells.successes - cells.trials * p))
        beta = beta + step / max(1.0, float(np.abs(step).max()))
    return beta


def _newton(cells: Cells, parameters: Array) -> LaplaceOptimum:
    """Follow damped Newton steps, downhill along every axis of the Hessian."""
    value, gradient, modes = _at(cells, parameters, np.zeros(cells.n_groups))
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
    return LaplaceOptimum(parameters, value + _constant(cells), hessian, modes, decrement)


def _at(cells: Cells, parameters: Array, modes: Array) -> tuple[float, Array, Array]:
    value, gradient, modes = deviance(cells, parameters[None], modes)
    return float(value[0]), gradient[0], modes[0]


def _hessian(cells: Cells, parameters: Array, modes: Array) -> Array:
    """Return the Hessian (p + 1, p + 1) by central differences of the gradient."""
    moved = STEP * np.eye(len(parameters))
    _, gradient, _ = deviance(cells, np.vstack([parameters + moved, parameters - moved]), modes)
    hessian = (gradient[: len(moved)] - gradient[len(moved) :]) / (2 * STEP)
    return (hessian + hessian.T) / 2
