"""Newton's method for the deviance of a linear mixed model, with a certificate of the optimum.

Psi = F F' with a full square F makes every second-order stationary point of rank below q, and
every stationary point of full rank, one of the deviance in the cone of covariance matrices. A
point is certified by what a Newton step could still gain in F (the decrement), and, where Psi is
singular, by what variance along any new direction could gain (the escape).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lingprob.regression.linear_mixed.likelihood import (
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


class Optimum(NamedTuple):
    """Where the search ended: Psi = F F' in the scaled coordinates of the moments.

    `newton_decrement` is the log-likelihood that a further step in F or a new direction of Psi
    would gain, to second order; `gradient_norm` the largest derivative of the deviance by F;
    `curvature` its Hessian's smallest eigenvalue over the largest, below 0 at a saddle.
    """

    factor: Array
    profile: Profile
    newton_decrement: float
    gradient_norm: float
    curvature: float
    iterations: int

    @property
    def converged(self) -> bool:
        """Whether nothing that counts is left to gain."""
        return self.newton_decrement < ACCEPTED and self.curvature > -SADDLE


def best_optimum(moments: ModelMoments, reml: bool, starts: int) -> tuple[Optimum, list[float]]:
    """Return the best of the optima found from several starts, and the deviances of all."""
    optima = [optimise(moments, reml, start) for start in _starts(moments.q, starts)]
    # Among equal deviances the best certificate: starts agree up to rounding.
    least = min(optimum.profile.deviance for optimum in optima)
    equal = [optimum for optimum in optima if optimum.profile.deviance < least + 1e-9]
    best = min(equal, key=lambda optimum: optimum.newton_decrement)
    return best, [optimum.profile.deviance for optimum in optima]


def optimise(moments: ModelMoments, reml: bool, start: Array) -> Optimum:
    """Minimise the deviance from Psi = start start'."""
    optimum = _newton(moments, reml, start)
    for _ in range(ESCAPES):
        gain, factor = _escape(moments, optimum, reml)
        if gain < NEGLIGIBLE:
            break
        found = _newton(moments, reml, factor)
        if found.profile.deviance >= optimum.profile.deviance:
            decrement = max(optimum.newton_decrement, gain)
            return optimum._replace(newton_decrement=decrement)
        optimum = found
    return optimum


def _starts(q: int, count: int) -> Iterator[Array]:
    """Yield F with slopes that vary less than intercepts, then as much, then at random."""
    yield np.diag([0.3] + [0.05] * (q - 1))
    generator = np.random.default_rng(0)
    for number in range(1, count):
        yield np.eye(q) if number == 1 else generator.normal(scale=0.3, size=(q, q))


def _newton(moments: ModelMoments, reml: bool, factor: Array) -> Optimum:
    """Follow Newton steps within a trust region, turned downhill where curvature is negative."""
    at, radius = profile(moments, factor, reml), 1.0
    gradient, hessian = derivatives(moments, at, factor, reml)
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
            there = _profile_or_none(moments, moved, reml)
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
        gradient, hessian = derivatives(moments, at, factor, reml)
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


def _profile_or_none(moments: ModelMoments, factor: Array, reml: bool) -> Profile | None:
    try:
        return profile(moments, factor, reml)
    except np.linalg.LinAlgError:
        return None


def _escape(moments: ModelMoments, optimum: Optimum, reml: bool) -> tuple[float, Array]:
    """Return what variance in the best direction would gain, and F with that variance added."""
    first, second = derivatives_by_psi(moments, optimum.profile, reml)
    slopes, directions = np.linalg.eigh(first)
    if slopes[0] >= 0:
        return 0.0, optimum.factor
    direction = directions[:, 0]
    curvature = np.einsum("abcd,a,b,c,d", second, *[direction] * 4)
    curvature = max(curvature, -slopes[0])
    # The smallest axis of Psi has no variance where there is anything to gain: it makes room.
    values, axes = np.linalg.eigh(optimum.factor @ optimum.factor.T)
    factor = axes * np.sqrt(np.maximum(values, 0))
    factor[:, 0] = np.sqrt(-slopes[0] / curvature) * direction
    return float(slopes[0] ** 2 / curvature / 4), factor
