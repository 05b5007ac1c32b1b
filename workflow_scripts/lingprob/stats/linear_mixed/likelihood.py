r"""Deviance of a linear mixed model, with analytic gradient and Hessian, from group moments.

For group g, y = X beta + Z b + e with b ~ N(0, s^2 Psi), e ~ N(0, s^2 I), Psi = F F'. Write
V = I + Z Psi Z' and K = Z'V^-1 Z, P = Z'V^-1 X, d = Z'V^-1 (y - X beta), all of which follow from
Z'Z, Z'X and Z'y by Z'V^-1 = (I + Z'Z Psi)^-1 Z'. With beta and s^2 at their optimum (r^2 is the
weighted sum of squared residuals, S = sum of X'V^-1 X) minus twice the log-likelihood is, over
groups,

    sum ln|V| + n (1 + ln(2 pi r^2 / n)),

its gradient by Psi is sum of K - R, with R = (n / r^2) d d', and differentiating dK = -K dPsi K, dP
= -K dPsi P, dd = -K dPsi d + P S^-1 (sum of P' dPsi d) once more gives the Hessian. Psi is
optimised through F without any bound, so that singular optima are ordinary stationary points.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class ModelMoments(NamedTuple):
    """The data of one model: G groups, p fixed and q random effects, all well scaled.

    `with_z`, (G, q, q + p + 1): Z'[Z, X, y] of each group. `total`, (p + 1, p + 1): [X, y]'[X, y]
    over all groups.
    """

    with_z: Array
    total: Array
    n: int

    @property
    def q(self) -> int:
        """Return the number of random effects."""
        return self.with_z.shape[1]

    @property
    def p(self) -> int:
        """Return the number of fixed effects."""
        return self.total.shape[0] - 1


class Profile(NamedTuple):
    """The deviance at one Psi, with beta and s^2 at their optimum given Psi.

    `triangle`, (p, p), is the Cholesky factor of S. `solved`, (G, q, q + p + 1), is
    Z'V^-1 [Z, X, y].
    """

    deviance: float
    beta: NDArray[np.floating]
    residual: float
    triangle: NDArray[np.floating]
    solved: NDArray[np.floating]


def profile(moments: ModelMoments, factor: Array) -> Profile:
    """Return the profiled deviance at Psi = F F', `factor` (q, q).

    Raises numpy.linalg.LinAlgError if rounding leaves S or r^2 not positive.
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
    deviance = np.linalg.slogdet(inner)[1].sum()
    deviance += moments.n * (1 + np.log(2 * np.pi * residual / moments.n))
    beta = np.linalg.solve(triangle.T, half)
    return Profile(float(deviance), beta, residual, triangle, solved)


def derivatives(moments: ModelMoments, at: Profile, factor: Array) -> tuple[Array, Array]:
    """Return the deviance's gradient and Hessian by `factor`, (q * q,) and (q * q, q * q)."""
    q = moments.q
    by_psi, second = derivatives_by_psi(moments, at)
    gradient = 2 * by_psi @ factor
    # Second derivatives along F: Psi moves by E F' + F E' and bends by 2 E E'.
    moved = np.tensordot(np.tensordot(second, factor, axes=(1, 0)), factor, axes=(2, 0))
    hessian = 4 * moved.transpose(0, 2, 1, 3)
    hessian += 2 * by_psi[:, None, :, None] * np.eye(q)[None, :, None, :]
    return gradient.ravel(), hessian.reshape(q * q, q * q)


def derivatives_by_psi(moments: ModelMoments, at: Profile) -> tuple[Array, Array]:
    """Return the deviance's derivatives by Psi: first (q, q), second (q, q, q, q)."""
    q, groups = moments.q, len(at.solved)
    scale = moments.n / at.residual
    k = at.solved[:, :, :q]
    d = at.solved[:, :, -1] - at.solved[:, :, q:-1] @ at.beta
    p = at.solved[:, :, q:-1] @ np.linalg.inv(at.triangle).T
    dd = d[:, :, None] * d[:, None, :]
    r = scale * dd
    first = (k - r).sum(axis=0)
    by_rows = (2 * r - k).reshape(groups, -1).T @ k.reshape(groups, -1)
    second = by_rows.reshape(q, q, q, q).transpose(1, 2, 3, 0)
    moved = np.einsum("ga,gbi->abi", d, p, optimize=True)
    squares = dd.sum(axis=0)
    second = second - 2 * scale * np.tensordot(moved, moved, axes=(2, 2))
    second -= scale / at.residual * np.multiply.outer(squares, squares)
    # Psi is symmetric.
    second = (second + second.transpose(1, 0, 2, 3)) / 2
    return (first + first.T) / 2, (second + second.transpose(0, 1, 3, 2)) / 2
