"""The deviance of linear mixed models as a function of F, with Psi = F F', for the search."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from lingprob.stats.linear_mixed import blocks
from lingprob.stats.linear_mixed.blocks import BlockMoments, BlockProfile
from lingprob.stats.linear_mixed.likelihood import (
    ModelMoments,
    Profile,
    derivatives,
    derivatives_by_psi,
    profile,
)

Array = NDArray[np.float64]

# The step of differences of a gradient.
DIFFERENCE = 1e-4


class OneTerm(NamedTuple):
    """The deviance of a model with one random term, as a function of F (q, q)."""

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
        return float(slopes[0] ** 2 / curvature / 4), _with_variance(factor, added)

    def starts(self, count: int) -> Iterator[Array]:
        """Yield F with slopes that vary less than intercepts, then as much, then at random."""
        return _starts(self.moments.q, count)

    def approach(self, start: Array) -> Array:
        """Return F as it is: Newton's steps are cheap."""
        return start

    def split(self, factor: Array) -> list[Array]:
        """Return the one F."""
        return [factor]


class SeveralTerms(NamedTuple):
    """The deviance of a model with several random terms, as a function of all their F in a row.

    `sizes` are the numbers of effects of the terms.
    """

    moments: BlockMoments
    sizes: tuple[int, ...]
    reml: bool

    def split(self, factor: Array) -> list[Array]:
        """Return the F of each term, (q, q)."""
        ends = np.cumsum([q * q for q in self.sizes])[:-1]
        parts = zip(np.split(factor, ends), self.sizes, strict=True)
        return [part.reshape(q, q) for part, q in parts]

    def profile(self, factor: Array) -> BlockProfile:
        """Return the deviance at Psi = F F' of each term."""
        psi = [own @ own.T for own in self.split(factor)]
        return blocks.profile(self.moments, psi, self.reml)

    def gradient(self, at: BlockProfile, factor: Array) -> Array:
        """Return the gradient by F."""
        pairs = zip(at.slopes, self.split(factor), strict=True)
        return np.concatenate([(2 * slope @ own).ravel() for slope, own in pairs])

    def derivatives(self, at: BlockProfile, factor: Array) -> tuple[Array, Array]:
        """Return the gradient and, from differences of it, the Hessian by F."""
        columns = []
        for step in DIFFERENCE * np.eye(len(factor)):
            ends = [self.gradient(self.profile(end), end) for end in (factor + step, factor - step)]
            columns.append((ends[0] - ends[1]) / (2 * DIFFERENCE))
        hessian = np.array(columns)
        return self.gradient(at, factor), (hessian + hessian.T) / 2

    def escape(self, at: BlockProfile, factor: Array) -> tuple[float, Array]:
        """Return what variance in the best direction would gain, and F with it added."""
        best = 0.0, factor
        for term, (slope, own) in enumerate(zip(at.slopes, self.split(factor), strict=True)):
            slopes, directions = np.linalg.eigh(slope)
            if slopes[0] >= 0:
                continue
            direction = directions[:, 0]
            moved = self._with(factor, term, _with_variance(own, np.sqrt(DIFFERENCE) * direction))
            there = self.profile(moved).slopes[term]
            curvature = (direction @ there @ direction - slopes[0]) / DIFFERENCE
            curvature = max(curvature, -slopes[0])
            added = np.sqrt(-slopes[0] / curvature) * direction
            gain = float(slopes[0] ** 2 / curvature / 4)
            if gain > best[0]:
                best = gain, self._with(factor, term, _with_variance(own, added))
        return best

    def starts(self, count: int) -> Iterator[Array]:
        """Yield the starts of each term in a row."""
        for number, parts in enumerate(zip(*(_starts(q, count) for q in self.sizes), strict=True)):
            # The random ones are the same for terms of one size: scale each by itself.
            scales = np.random.default_rng(number).uniform(0.3, 1.5, len(parts))
            scales = np.ones(len(parts)) if number < 2 else scales
            yield np.concatenate([(s * p).ravel() for s, p in zip(scales, parts, strict=True)])

    def approach(self, start: Array) -> Array:
        """Return F near an optimum, sought without second derivatives."""
        options = {"gtol": 1e-2, "ftol": 1e-15}
        return minimize(self._value, start, jac=True, method="L-BFGS-B", options=options).x

    def _value(self, factor: Array) -> tuple[float, Array]:
        try:
            at = self.profile(factor)
        except np.linalg.LinAlgError:
            return np.inf, np.zeros_like(factor)
        return at.deviance, self.gradient(at, factor)

    def _with(self, factor: Array, term: int, own: Array) -> Array:
        parts = self.split(factor)
        parts[term] = own
        return np.concatenate([part.ravel() for part in parts])


def _with_variance(factor: Array, added: Array) -> Array:
    """Return F of F F' + a a', the variance along a direction being `added`, a (q,)."""
    values, axes = np.linalg.eigh(factor @ factor.T + np.outer(added, added))
    return axes * np.sqrt(np.maximum(values, 0))


def _starts(q: int, count: int) -> Iterator[Array]:
    """Yield F with slopes that vary less than intercepts, then as much, then at random."""
    yield np.diag([0.3] + [0.05] * (q - 1))
    generator = np.random.default_rng(0)
    for number in range(1, count):
        yield np.eye(q) if number == 1 else generator.normal(scale=0.3, size=(q, q))
