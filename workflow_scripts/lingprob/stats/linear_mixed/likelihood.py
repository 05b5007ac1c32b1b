r"""Deviance of a linear mixed model, with analytic gradient and Hessian, from group moments.

For group g, y = X beta + Z b + e with b ~ N(0, s^2 Psi), e ~ N(0, s^2 I), Psi = F F'. Write
V = I + Z Psi Z' and K = Z'V^-1 Z, P = Z'V^-1 X, d = Z'V^-1 (y - X beta), all of which follow from
Z'Z, Z'X and Z'y by Z'V^-1 = (I + Z'Z Psi)^-1 Z'. With beta and s^2 at their optimum (r^2 is the
weighted sum of squared residuals, S = sum of X'V^-1 X, m = n for ML, n - p for REML) minus twice
the log-likelihood is, over groups,

    sum ln|V| + m (1 + ln(2 pi r^2 / m)) + [REML] ln|S|,

its gradient by Psi is sum of K - R, with R = (m / r^2) d d' + [REML] P S^-1 P', and
differentiating dK = -K dPsi K, dP = -K dPsi P, dd = -K dPsi d + P S^-1 (sum of P' dPsi d)
once more gives the Hessian. Psi is optimised through F without any bound, so that singular
optima are ordinary stationary points.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ModelMoments(NamedTuple):
    """What one model needs of G groups, p fixed and q random effects, all well scaled.

    `with_z`, (G, q, q + p + 1): Z'[Z, X, y] of each group. `total`, (p + 1, p + 1): [X, y]'[X, y]
    over all groups.
    """

    with_z: Array
    total: Array
    n: int

    @property
    def q(self) -> int:
        """Number of random effects."""
        return self.with_z.shape[1]

    @property
    def p(self) -> int:
        """Number of fixed effects."""
        return self.total.shape[0] - 1


class Profile(NamedTuple):
    """The deviance at one Psi, beta and s^2 at their optimum given it.

    `triangle`, (p, p), is the Cholesky factor of S. `solved`, (G, q, q + p + 1), is
    Z'V^-1 [Z, X, y].
    """

    deviance: float
    beta: NDArray[np.floating]
    residual: float
    freedom: int
    triangle: NDArray[np.floating]
    solved: NDArray[np.floating]


def profile(moments: ModelMoments, factor: Array, reml: bool) -> Profile:
    """Return the profiled deviance at Psi = F F', `factor` (q, q).

    Raises numpy.linalg.LinAlgError where rounding leaves S or r^2 not positive.
    """
    q, p, psi = moments.q, moments.p, factor @ factor.T
    inner = np.eye(q) + moments.with_z[:, :, :q] @ psi
    solved = np.linalg.solve(inner, moments.with_z)
    shrunk = psi @ solved[:, :, q:]
    weighted = moments.total - np.tensordot(moments.with_z[:, :, q:], shrunk, axes=((0, 1), (0, 1)))
    triangle = np.linalg.cholesky(weighted[:p, :p])
    half = np.linalg.solve(triangle, weighted[:p, p])
    residual = float(weighted[p, p] - half @ half)
    if residual <= 0:
        raise np.linalg.LinAlgError("no residual left")
    freedom = moments.n - p if reml else moments.n
    deviance = np.linalg.slogdet(inner)[1].sum()
    deviance += freedom * (1 + np.log(2 * np.pi * residual / freedom))
    if reml:
        deviance += 2 * np.log(np.diag(triangle)).sum()
    beta = np.linalg.solve(triangle.T, half)
    return Profile(float(deviance), beta, residual, freedom, triangle, solved)


def derivatives(
    moments: ModelMoments, at: Profile, factor: Array, reml: bool
) -> tuple[Array, Array]:
    """Return the deviance's gradient and Hessian by `factor`, (q * q,) and (q * q, q * q)."""
    q = moments.q
    by_psi, second = derivatives_by_psi(moments, at, reml)
    gradient = 2 * by_psi @ factor
    # Second derivatives along F: Psi moves by E F' + F E' and bends by 2 E E'.
    moved = np.tensordot(np.tensordot(second, factor, axes=(1, 0)), factor, axes=(2, 0))
    hessian = 4 * moved.transpose(0, 2, 1, 3)
    hessian += 2 * by_psi[:, None, :, None] * np.eye(q)[None, :, None, :]
    return gradient.ravel(), hessian.reshape(q * q, q * q)


def derivatives_by_psi(moments: ModelMoments, at: Profile, reml: bool) -> tuple[Array, Array]:
    """Return the deviance's derivatives by Psi: first (q, q), second (q, q, q, q)."""
    q, groups = moments.q, len(at.solved)
    scale = at.freedom / at.residual
    k = at.solved[:, :, :q]
    d = at.solved[:, :, -1] - at.solved[:, :, q:-1] @ at.beta
    p = at.solved[:, :, q:-1] @ np.linalg.inv(at.triangle).T
    dd = d[:, :, None] * d[:, None, :]
    r = scale * dd + (p @ p.transpose(0, 2, 1) if reml else 0)
    first = (k - r).sum(axis=0)
    by_rows = (2 * r - k).reshape(groups, -1).T @ k.reshape(groups, -1)
    second = by_rows.reshape(q, q, q, q).transpose(1, 2, 3, 0)
    moved = np.einsum("ga,gbi->abi", d, p, optimize=True)
    squares = dd.sum(axis=0)
    second = second - 2 * scale * np.tensordot(moved, moved, axes=(2, 2))
    second -= scale / at.residual * np.multiply.outer(squares, squares)
    if reml:
        products = np.tensordot(p, p, axes=(0, 0)).transpose(0, 2, 1, 3)
        second -= np.tensordot(products, products, axes=((2, 3), (2, 3)))
    return (first + first.T) / 2, _symmetric(second)


def _symmetric(second: Array) -> Array:
    second = (second + second.transpose(1, 0, 2, 3)) / 2
    return (second + second.transpose(0, 1, 3, 2)) / 2


class Deviance(NamedTuple):
    """The deviance of a model as a function of F (q, q), as the search needs it."""

    moments: ModelMoments
    reml: bool

    def profile(self, factor: Array) -> Profile:
        """Return the deviance at Psi = F F'."""
        return profile(self.moments, factor, self.reml)

    def derivatives(self, at: Profile, factor: Array) -> tuple[Array, Array]:
        """Return the gradient and the Hessian by F."""
        return derivatives(self.moments, at, factor, self.reml)

    def escape(self, at: Profile, factor: Array) -> tuple[float, Array]:
        """Return what variance in the best direction would gain, and F with it added."""
        first, second = derivatives_by_psi(self.moments, at, self.reml)
        slopes, directions = np.linalg.eigh(first)
        if slopes[0] >= 0:
            return 0.0, factor
        direction = directions[:, 0]
        curvature = np.einsum("abcd,a,b,c,d", second, *[direction] * 4)
        curvature = max(curvature, -slopes[0])
        added = np.sqrt(-slopes[0] / curvature) * direction
        # F of F F' + a a', the variance along the direction being `added`.
        values, axes = np.linalg.eigh(factor @ factor.T + np.outer(added, added))
        return float(slopes[0] ** 2 / curvature / 4), axes * np.sqrt(np.maximum(values, 0))

    def starts(self, count: int) -> Iterator[Array]:
        """Yield F with slopes that vary less than intercepts, then as much, then at random."""
        q = self.moments.q
        yield np.diag([0.3] + [0.05] * (q - 1))
        generator = np.random.default_rng(0)
        for number in range(1, count):
            yield np.eye(q) if number == 1 else generator.normal(scale=0.3, size=(q, q))
