"""Newton's method for the deviance of a linear mixed model, with a certificate of the optimum.

Psi = F F' with a full square F makes every second-order stationary point of rank below q, and
every stationary point of full rank, one of the deviance in the cone of covariance matrices. A
point is certified by what a Newton step could still gain in F (the decrement), and, where Psi is
singular, by what variance along any new direction could gain (the escape).
"""

from __future__ import annotations

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
# Gains in log-likelihood: Newton's method goes on above the first; above the second, a fit does
# not count as converged.
NEGLIGIBLE = 1e-11
ACCEPTED = 1e-7
# Curvatures below this share of the largest are flat: rotations of F change nothing.
FLAT = 1e-9
SADDLE = 1e-6
# Deviances of starts that ended at one optimum; variances (of residuals' 1) that are none.
SAME = 1e-6
NO_VARIANCE = 1e-8
# At a bound, starts at random follow until this many ended at the best, at most RESTARTS.
AGREED = 3
RESTARTS = 12
SCALES = (0.1, 1.0, 3.0)


class Deviance(NamedTuple):
    """The deviance of a model as a function of F (q, q)."""

    moments: ModelMoments

    def profile(self, factor: Array) -> Profile:
        """Return the deviance at Psi = F F'; raises numpy.linalg.LinAlgError."""
        return profile(self.moments, factor)

    def derivatives(self, at: Profile, factor: Array) -> tuple[Array, Array]:
        """Return the gradient and the Hessian by F, flattened."""
        return derivatives(self.moments, at, factor)

    def escape(self, at: Profile, factor: Array) -> tuple[float, Array]:
        """Return what variance in the best direction would gain, and F with it added."""
        first, second = derivatives_by_psi(self.moments, at)
        slopes, directions = np.linalg.eigh(first)
        if slopes[0] >= 0:
            return 0.0, factor
        direction = directions[:, 0]
        curvature = np.einsum("abcd,a,b,c,d", second, *[direction] * 4)
        curvature = max(curvature, -slopes[0])
        added = np.sqrt(-slopes[0] / curvature) * direction
        values, axes = np.linalg.eigh(factor @ factor.T + np.outer(added, added))
        return float(slopes[0] ** 2 / curvature / 4), axes * np.sqrt(np.maximum(values, 0))

    def starts(self, count: int) -> Iterator[Array]:
        """Yield F with slopes that vary less than intercepts, then as much, then at random."""
        q = self.moments.q
        yield np.diag([0.3] + [0.05] * (q - 1))
        generator = np.random.default_rng(0)
        for number in range(1, count):
            yield np.eye(q) if number == 1 else generator.normal(scale=0.3, size=(q, q))


class Optimum(NamedTuple):
    """Where the search ended: Psi = F F' in the scaled coordinates of the moments.

    `newton_decrement` is the log-likelihood that a further step in F or a new direction of Psi
    would gain, to second order; `gradient_norm` the largest derivative of the deviance by F;
    `curvature` its Hessian's smallest eigenvalue over the largest, below 0 at a saddle; `agreed`
    whether another start, if there was one, ended there, too.
    """

    factor: Array
    profile: Profile
    newton_decrement: float
    gradient_norm: float
    curvature: float
    iterations: int
    agreed: bool = True

    @property
    def converged(self) -> bool:
        """Whether nothing that counts is left to gain, here or (as other starts tell) elsewhere."""
        return self.newton_decrement < ACCEPTED and self.curvature > -SADDLE and self.agreed


def best_optimum(objective: Deviance, starts: int) -> tuple[Optimum, list[float]]:
    """Return the best of the optima found from several starts, and the deviances of all.

    On the boundary of the covariance matrices there may be several optima, of different rank.
    There, and where starts disagree, further ones follow: from nearly no variance and from much,
    from the best optimum less one direction that varies, and at random. The best counts as
    converged if two starts at least have reached it, unless there was but one.
    """
    optima: list[Optimum] = []
    for start in objective.starts(starts):
        optima.append(optimise(objective, start))
    psi = _best(optima).factor @ _best(optima).factor.T
    if np.linalg.eigvalsh(psi)[0] < NO_VARIANCE or _reached(optima) < len(optima):
        for start in _restarts(psi):
            optima.append(optimise(objective, start))
        for start in islice(objective.starts(starts + RESTARTS), starts, None):
            if _reached(optima) >= AGREED:
                break
            scaled = SCALES[len(optima) % len(SCALES)] * start
            optima.append(optimise(objective, scaled))
    best = _best(optima)
    agreed = len(optima) == 1 or _reached(optima) > 1
    return best._replace(agreed=agreed), [optimum.profile.deviance for optimum in optima]


def _best(optima: list[Optimum]) -> Optimum:
    # Among equal deviances the best certificate: starts agree up to rounding.
    least = min(optimum.profile.deviance for optimum in optima)
    equal = [optimum for optimum in optima if optimum.profile.deviance < least + 1e-9]
    return min(equal, key=lambda optimum: optimum.newton_decrement)


def _reached(optima: list[Optimum]) -> int:
    """Return how many optima are the best one."""
    deviances = np.array([optimum.profile.deviance for optimum in optima])
    return int((deviances < deviances.min() + SAME).sum())


def _restarts(psi: Array) -> Iterator[Array]:
    """Yield F nearly without variance, F of much, and of Psi less each direction that varies."""
    for size in (1e-3, 5.0):
        yield size * np.eye(len(psi))
    values, axes = np.linalg.eigh(psi)
    root = axes * np.sqrt(np.maximum(values, 0))
    for axis in np.flatnonzero((root**2).sum(axis=0) > NO_VARIANCE):
        yield root * (np.arange(len(root)) != axis)


def optimise(objective: Deviance, start: Array) -> Optimum:
    """Minimise the deviance from F = start."""
    optimum = _newton(objective, start)
    for _ in range(ESCAPES):
        gain, factor = objective.escape(optimum.profile, optimum.factor)
        if gain < NEGLIGIBLE:
            break
        found = _newton(objective, factor)
        if found.profile.deviance >= optimum.profile.deviance:
            decrement = max(optimum.newton_decrement, gain)
            return optimum._replace(newton_decrement=decrement)
        optimum = found
    return optimum


def _newton(objective: Deviance, factor: Array) -> Optimum:
    """Follow Newton steps within a trust region, turned downhill where curvature is negative."""
    at, radius = objective.profile(factor), 1.0
    gradient, hessian = objective.derivatives(at, factor)
    for iteration in range(ITERATIONS):
        curvature, axes = np.linalg.eigh(hessian)
        along = axes.T @ gradient
        steep = np.maximum(np.abs(curvature), FLAT * np.abs(curvature).max())
        decrement = float((along**2 / steep).sum() / 4)
        if decrement < NEGLIGIBLE:
            break
        while True:
            step = _within(along, steep, radius)
            promised = -(along @ step + (curvature * step**2).sum() / 2)
            moved = factor + (axes @ step).reshape(factor.shape)
            there = _profile_or_none(objective, moved)
            gained = -np.inf if there is None else at.deviance - there.deviance
            length = float(np.linalg.norm(step))
            # Gains below the rounding of the deviance cannot be seen: the derivatives are trusted.
            rounding = 1e-14 * abs(at.deviance)
            if gained > 0.1 * promised or (promised < rounding and gained > -rounding):
                break
            radius = length / 4
            if radius < 1e-12:
                return _optimum(factor, at, decrement, gradient, curvature, iteration)
        if gained > 0.7 * promised:
            radius = max(radius, 3 * length)
        assert there is not None
        factor, at = moved, there
        gradient, hessian = objective.derivatives(at, factor)
    return _optimum(factor, at, decrement, gradient, curvature, iteration)


def _optimum(
    factor: Array,
    at: Profile,
    decrement: float,
    gradient: Array,
    curvature: Array,
    iterations: int,
) -> Optimum:
    steepest = float(np.abs(gradient).max())
    relative = float(curvature[0] / np.abs(curvature).max())
    return Optimum(factor, at, decrement, steepest, relative, iterations)


def _within(along: Array, steep: Array, radius: float) -> Array:
    """Return the Newton step, damped until it is no longer than the radius."""
    step = -along / steep
    damping = steep.min()
    while np.linalg.norm(step) > radius:
        damping *= 4
        step = -along / (steep + damping)
    return step


def _profile_or_none(objective: Deviance, factor: Array) -> Profile | None:
    try:
        return objective.profile(factor)
    except np.linalg.LinAlgError:
        return None
