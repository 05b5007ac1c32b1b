r"""Deviance of a linear mixed model from group moments, and Newton's method for its optimum.

For group g, y = X beta + Z b + e with b ~ N(0, s^2 Psi), e ~ N(0, s^2 I), Psi = F F'. Write
V = I + Z Psi Z' and K = Z'V^-1 Z, P = Z'V^-1 X, d = Z'V^-1 (y - X beta), all of which follow from
Z'Z, Z'X and Z'y by Z'V^-1 = (I + Z'Z Psi)^-1 Z'. With beta and s^2 at their optimum (r^2 is the
weighted sum of squared residuals, S = sum of X'V^-1 X) minus twice the log-likelihood is, over
groups,

    sum ln|V| + n (1 + ln(2 pi r^2 / n)),

its gradient by Psi is sum of K - R, with R = (n / r^2) d d', and differentiating dK = -K dPsi K, dP
= -K dPsi P, dd = -K dPsi d + P S^-1 (sum of P' dPsi d) once more gives the Hessian. Psi is
optimised through F without any bound, so that singular optima are ordinary stationary points.

Psi = F F' with a full square F makes every second-order stationary point of rank below q, and
every stationary point of full rank, one of the deviance in the cone of covariance matrices. A
point is certified by the gain of another Newton step in F (the decrement) and, if Psi is singular,
by the gain of variance along any new direction (the escape).
"""

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

ITERATIONS = 200
ESCAPES = 10
# Gains in log-likelihood (nats): above the first, Newton's method continues. Above the second, a
# fit does not count as converged.
NEGLIGIBLE = 1e-11
ACCEPTED = 1e-7
# Curvatures below this share of the largest are flat: rotations of F change nothing.
FLAT = 1e-9
SADDLE = 1e-6
# Deviances this close belong to one optimum. Variances below the second count as 0 (residuals: 1).
SAME = 1e-6
NO_VARIANCE = 1e-8
# At a bound, random starts follow until this many reach the best optimum, at most RESTARTS.
AGREED = 3
RESTARTS = 12
SCALES = (0.1, 1.0, 3.0)


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
    q, p, psi = moments.q, len(moments.total) - 1, factor @ factor.T
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


class Optimum(NamedTuple):
    """The end of a search: Psi = F F' in the scaled coordinates of the moments.

    `newton_decrement` is the log-likelihood that another step in F or a new direction of Psi would
    gain, to second order. `curvature` is the smallest eigenvalue of the deviance's Hessian by F
    over the largest, below 0 at a saddle. `agreed` tells whether another start, if there was one,
    ended there.
    """

    factor: Array
    profile: Profile
    newton_decrement: float
    curvature: float
    agreed: bool = True

    @property
    def converged(self) -> bool:
        """Return whether no relevant gain is left, here or (judging by other starts) elsewhere."""
        return self.newton_decrement < ACCEPTED and self.curvature > -SADDLE and self.agreed


def best_optimum(moments: ModelMoments, starts: int) -> tuple[Optimum, list[float]]:
    """Return the best optimum found from several starts, and the deviances of all optima.

    On the boundary of the covariance matrices there may be several optima, of different rank.
    There, and if starts disagree, more starts follow: with small and with large variance, at the
    best optimum without one of its directions, and at random. The best counts as converged if at
    least two starts reached it, or if there was only one start.
    """
    optima = [optimise(moments, start) for start in _starts(moments.q, starts)]
    psi = _best(optima).factor @ _best(optima).factor.T
    if np.linalg.eigvalsh(psi)[0] < NO_VARIANCE or _reached(optima) < len(optima):
        optima += [optimise(moments, start) for start in _restarts(psi)]
        for start in islice(_starts(moments.q, starts + RESTARTS), starts, None):
            if _reached(optima) >= AGREED:
                break
            scaled = SCALES[len(optima) % len(SCALES)] * start
            optima.append(optimise(moments, scaled))
    agreed = len(optima) == 1 or _reached(optima) > 1
    deviances = [optimum.profile.deviance for optimum in optima]
    return _best(optima)._replace(agreed=agreed), deviances


def _best(optima: list[Optimum]) -> Optimum:
    """Return the optimum of least deviance and, among equal ones, of least decrement."""
    least = min(optimum.profile.deviance for optimum in optima)
    equal = [optimum for optimum in optima if optimum.profile.deviance < least + 1e-9]
    return min(equal, key=lambda optimum: optimum.newton_decrement)


def _reached(optima: list[Optimum]) -> int:
    """Return how many starts reached the least deviance, up to SAME."""
    deviances = np.array([optimum.profile.deviance for optimum in optima])
    return int((deviances < deviances.min() + SAME).sum())


def _starts(q: int, count: int) -> Iterator[Array]:
    """Yield F: slopes vary less than intercepts, then as much, then at random."""
    yield np.diag([0.3] + [0.05] * (q - 1))
    generator = np.random.default_rng(0)
    for number in range(1, count):
        yield np.eye(q) if number == 1 else generator.normal(scale=0.3, size=(q, q))


def _restarts(psi: Array) -> Iterator[Array]:
    """Yield F of small variance, of large variance, and of Psi without each of its directions."""
    for size in (1e-3, 5.0):
        yield size * np.eye(len(psi))
    values, axes = np.linalg.eigh(psi)
    root = axes * np.sqrt(np.maximum(values, 0))
    for axis in np.flatnonzero((root**2).sum(axis=0) > NO_VARIANCE):
        yield root * (np.arange(len(root)) != axis)


def optimise(moments: ModelMoments, start: Array) -> Optimum:
    """Return the optimum of the deviance found from F = `start`, (q, q)."""
    optimum = _newton(moments, start)
    for _ in range(ESCAPES):
        gain, factor = _escape(moments, optimum)
        if gain < NEGLIGIBLE:
            break
        found = _newton(moments, factor)
        if found.profile.deviance >= optimum.profile.deviance:
            decrement = max(optimum.newton_decrement, gain)
            return optimum._replace(newton_decrement=decrement)
        optimum = found
    return optimum


def _escape(moments: ModelMoments, at: Optimum) -> tuple[float, Array]:
    """Return the gain from variance in the best new direction, and F with that direction added."""
    factor = at.factor
    first, second = derivatives_by_psi(moments, at.profile)
    slopes, directions = np.linalg.eigh(first)
    if slopes[0] >= 0:
        return 0.0, factor
    direction = directions[:, 0]
    curvature = np.einsum("abcd,a,b,c,d", second, *[direction] * 4)
    curvature = max(curvature, -slopes[0])
    added = np.sqrt(-slopes[0] / curvature) * direction
    values, axes = np.linalg.eigh(factor @ factor.T + np.outer(added, added))
    return float(slopes[0] ** 2 / curvature / 4), axes * np.sqrt(np.maximum(values, 0))


def _newton(moments: ModelMoments, factor: Array) -> Optimum:
    """Return the end of Newton steps within a trust region, which go downhill at any curvature."""
    at, radius = profile(moments, factor), 1.0
    for _ in range(ITERATIONS):
        gradient, hessian = derivatives(moments, at, factor)
        curvature, axes = np.linalg.eigh(hessian)
        along = axes.T @ gradient
        steep = np.maximum(np.abs(curvature), FLAT * np.abs(curvature).max())
        decrement = float((along**2 / steep).sum() / 4)
        relative = float(curvature[0] / np.abs(curvature).max())
        here = Optimum(factor, at, decrement, relative)
        if decrement < NEGLIGIBLE:
            break
        while True:
            step = _within(along, steep, radius)
            promised = -(along @ step + (curvature * step**2).sum() / 2)
            moved = factor + (axes @ step).reshape(factor.shape)
            try:
                there = profile(moments, moved)
                gained = at.deviance - there.deviance
            except np.linalg.LinAlgError:
                gained = -np.inf
            length = float(np.linalg.norm(step))
            # Rounding of the deviance hides smaller gains, so the derivatives decide.
            rounding = 1e-14 * abs(at.deviance)
            if gained > 0.1 * promised or (promised < rounding and gained > -rounding):
                break
            radius = length / 4
            if radius < 1e-12:
                return here
        if gained > 0.7 * promised:
            radius = max(radius, 3 * length)
        factor, at = moved, there
    return here


def _within(along: Array, steep: Array, radius: float) -> Array:
    """Return the Newton step, damped until it is no longer than the radius."""
    step = -along / steep
    damping = steep.min()
    while np.linalg.norm(step) > radius:
        damping *= 4
        step = -along / (steep + damping)
    return step
