"""Newton's method for the deviance of a linear mixed model, with a certificate of the optimum.

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

from lingprob.stats.linear_mixed.likelihood import (
    ModelMoments,
    Profile,
    derivatives,
    derivatives_by_psi,
    profile,
)

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
