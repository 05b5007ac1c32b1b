r"""Deviance of linear mixed models with several random terms, and its gradient, from moments.

As in `likelihood`, V = I + Z Psi Z' and everything follows from Z'V^-1 [Z, X, y]. Of the grouping
factors the one with the most effects, f, is integrated out first, level by level; what it leaves
of the others' columns R, of X and of y is a dense problem of the size of R:

    C = U'V_f^-1 U = U'U - U'Z_f Psi_f (I + Z_f'Z_f Psi_f)^-1 Z_f'U       with U = [R, X, y],
    R'V^-1 U = (I + C_RR Psi_R)^-1 C_RU                 and ln|V| = ln|V_f| + ln|I + C_RR Psi_R|,
    Z_f'V^-1 U = Z_f'V_f^-1 U - Z_f'V_f^-1 R Psi_R R'V^-1 U.

With K = Z'V^-1 Z and R_g as there, the gradient by the Psi of a term is the sum of K_gg - R_gg
over its levels g: only blocks on the diagonal of K are needed. Levels that no chain of rows
connects (the sentences and the readers of two stories) are in different parts of V: those that
have as many levels are taken side by side.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from lingprob.stats.linear_mixed.basis import Basis
from lingprob.stats.linear_mixed.crossed_data import CrossedData
from lingprob.stats.linear_mixed.formula import MixedFormula

Array = NDArray[np.float64]
Ints = NDArray[np.intp]


class Factor(NamedTuple):
    """The random effects of one grouping factor: `terms` are numbers of the formula's terms.

    `places` are each of these terms' columns among the factor's q effects.
    """

    name: str
    levels: int
    q: int
    terms: tuple[int, ...]
    places: tuple[slice, ...]

    @property
    def effects(self) -> int:
        """Random effects of all levels."""
        return self.levels * self.q


class Parts(NamedTuple):
    """Parts of V with as many levels each, P of them; a part's levels are those that rows connect.

    `levels`, (P, levels of a part): of each factor, the first (f) before the others. The effects
    of the others' levels, level by level, are the r columns R. `with_z`, (P, G, q, q + r + p + 1):
    Z_f'[Z_f, R, X, y] of each level of f; `others`, (P, r, r + p + 1): R'[R, X, y].
    """

    levels: list[Ints]
    with_z: Array
    others: Array


class BlockMoments(NamedTuple):
    """What a model with several random terms needs of its data, all well scaled.

    `total`, (p + 1, p + 1): [X, y]'[X, y] over all rows.
    """

    factors: tuple[Factor, ...]
    parts: list[Parts]
    total: Array
    n: int


class BlockProfile(NamedTuple):
    """The deviance at one Psi, beta and s^2 at their optimum given it.

    `triangle`, (p, p), is the Cholesky factor of X'V^-1 X. By term: `slopes`, (q, q), the
    deviance's derivative by Psi; `weighted`, (levels, q), Z'V^-1 (y - X beta).
    """

    deviance: float
    beta: Array
    residual: float
    freedom: int
    triangle: NDArray[np.floating]
    slopes: list[Array]
    weighted: list[Array]


def factors_of(formula: MixedFormula, levels: dict[str, int]) -> tuple[Factor, ...]:
    """Return the formula's grouping factors, the one with the most random effects first."""
    found = []
    for name in formula.groups:
        terms = tuple(at for at, term in enumerate(formula.terms) if term.group == name)
        ends = np.cumsum([0, *(len(formula.terms[at].effects) for at in terms)])
        places = tuple(slice(*pair) for pair in pairwise(ends.tolist()))
        found.append(Factor(name, levels[name], int(ends[-1]), terms, places))
    return tuple(sorted(found, key=lambda factor: -factor.effects))


def grouped_moments(factor: Factor, with_z: Array, total: Array, n: int) -> BlockMoments:
    """Return the moments of a model with one grouping factor; arguments as ModelMoments."""
    whole = Parts([np.arange(factor.levels)[None]], with_z[None], np.empty((1, 0, len(total))))
    return BlockMoments((factor,), [whole], total, n)


def crossed_moments(
    data: CrossedData, factors: tuple[Factor, ...], random: list[Basis], right: Array
) -> BlockMoments:
    """Return the moments of a model: `random` has a basis for each term.

    `right`, (k + 2, p + 1), makes [X, y] of the data's columns.
    """
    fixed = data.columns @ right
    z = [data.columns @ np.hstack([random[at].scaled for at in each.terms]) for each in factors]
    codes = [data.codes[factor.name] for factor in factors]
    with_fixed = [
        _products(code, factor.levels, own, fixed)
        for code, factor, own in zip(codes, factors, z, strict=True)
    ]
    own = _products(codes[0], factors[0].levels, z[0], z[0])
    between = [[_crossed(codes, factors, z, i, j) for j in range(1, len(z))] for i in range(len(z))]
    by_shape = defaultdict(list)
    for levels in _connected(codes, factors):
        flat = [_effects(factor, own) for factor, own in zip(factors, levels, strict=True)]
        rows = [
            np.hstack(
                [block[np.ix_(flat[i], flat[j])] for j, block in enumerate(between[i], start=1)]
                + [with_fixed[i][levels[i]].reshape(len(flat[i]), -1)]
            )
            for i in range(len(z))
        ]
        beside = rows[0].reshape(len(levels[0]), factors[0].q, -1)
        with_z = np.concatenate([own[levels[0]], beside], axis=2)
        by_shape[tuple(map(len, levels))].append((levels, with_z, np.vstack(rows[1:])))
    parts = []
    for alike in by_shape.values():
        each_levels, with_zs, others = zip(*alike, strict=True)
        stacked = [np.stack(own) for own in zip(*each_levels, strict=True)]
        parts.append(Parts(stacked, np.stack(with_zs), np.stack(others)))
    return BlockMoments(factors, parts, fixed.T @ fixed, data.n)


def residual_moments(
    data: CrossedData, factors: tuple[Factor, ...], random: list[Basis], residual: Array
) -> BlockMoments:
    """Return moments of residuals, a combination (k + 2,) of the columns, in place of [X, y].

    Random effects are in their own units, not scaled.
    """
    own = [Basis(each.columns, np.eye(each.columns.shape[1])) for each in random]
    return crossed_moments(data, factors, own, residual[:, None])


def integrated(moments: BlockMoments, psi: list[Array]) -> tuple[float, float]:
    """Return e'V^-1 e and ln|V| of residuals e, for Psi (q, q) of each term."""
    by_factor = [_psi(factor, psi) for factor in moments.factors]
    solved = [_solved(parts, moments.factors, by_factor) for parts in moments.parts]
    square = moments.total[0, 0] - sum(parts.explained[0, 0] for parts in solved)
    return float(square), sum(parts.log_determinant for parts in solved)


def profile(moments: BlockMoments, psi: list[Array], reml: bool) -> BlockProfile:
    """Return the profiled deviance at the Psi (q, q) of each term.

    Raises numpy.linalg.LinAlgError where rounding leaves X'V^-1 X or r^2 not positive.
    """
    p, factors = len(moments.total) - 1, moments.factors
    by_factor = [_psi(factor, psi) for factor in factors]
    solved = [_solved(parts, factors, by_factor) for parts in moments.parts]
    weighted = moments.total - sum(parts.explained for parts in solved)
    triangle = np.linalg.cholesky(weighted[:p, :p])
    half = np.linalg.solve(triangle, weighted[:p, p])
    residual = float(weighted[p, p] - half @ half)
    if not residual > 0:
        raise np.linalg.LinAlgError("no residual left")
    freedom = moments.n - p if reml else moments.n
    deviance = sum(parts.log_determinant for parts in solved)
    deviance += freedom * (1 + np.log(2 * np.pi * residual / freedom))
    if reml:
        deviance += 2 * np.log(np.diag(triangle)).sum()
    beta = np.linalg.solve(triangle.T, half)
    slopes, by_level = [np.empty(0)] * len(psi), [np.empty(0)] * len(psi)
    for at, factor in enumerate(factors):
        with_fixed = np.empty((factor.levels, factor.q, p + 1))
        for parts, own in zip(moments.parts, solved, strict=True):
            with_fixed[parts.levels[at]] = own.with_fixed[at]
        d = with_fixed[:, :, p] - with_fixed[:, :, :p] @ beta
        slope = sum(own.sums[at] for own in solved) - freedom / residual * d.T @ d
        if reml:
            halves = np.linalg.solve(triangle, with_fixed[:, :, :p].swapaxes(1, 2))
            slope -= np.einsum("gpa,gpb->ab", halves, halves)
        for term, place in zip(factor.terms, factor.places, strict=True):
            slopes[term], by_level[term] = slope[place, place], d[:, place]
    return BlockProfile(float(deviance), beta, residual, freedom, triangle, slopes, by_level)


class _Solved(NamedTuple):
    """What parts add up to: in ln|V|, and in [X, y]'[X, y] - [X, y]'V^-1 [X, y].

    By factor: `sums`, (q, q), of the blocks on the diagonal of Z'V^-1 Z; `with_fixed`,
    (P, levels of a part, q, p + 1), Z'V^-1 [X, y].
    """

    log_determinant: float
    explained: Array
    sums: list[NDArray[np.floating]]
    with_fixed: list[NDArray[np.floating]]


def _solved(parts: Parts, factors: tuple[Factor, ...], psi: list[Array]) -> _Solved:
    q, r = factors[0].q, parts.others.shape[1]
    count, levels = parts.with_z.shape[:2]
    inner = np.eye(q) + parts.with_z[..., :q] @ psi[0]
    solved = parts.with_z / inner if q == 1 else np.linalg.solve(inner, parts.with_z)
    shrunk = (psi[0] @ solved[..., q:]).reshape(count, levels * q, -1)
    products = parts.with_z[..., q:].reshape(shrunk.shape)
    explained = _inner(products[..., r:], shrunk[..., r:]).sum(axis=0)
    log_determinant = float(np.linalg.slogdet(inner)[1].sum())
    if not r:
        return _Solved(log_determinant, explained, [solved[..., :q].sum(axis=(0, 1))],
                       [solved[..., q:]])  # fmt: skip
    # What is left of R'[R, X, y] once f is integrated out, and Z_f'V^-1 R and Z_f'V^-1 [X, y].
    left = parts.others - _inner(products[..., :r], shrunk)
    inner = np.eye(r) + _times_psi(parts, factors, psi, left[..., :r]).swapaxes(1, 2)
    of_others, further = _divided(left, inner)
    shrunk = _times_psi(parts, factors, psi, of_others)
    explained += _inner(left[..., r:], shrunk[..., r:]).sum(axis=0)
    beside = solved[..., q:].reshape(products.shape)
    with_r, own = beside[..., :r], beside[..., r:] - beside[..., :r] @ shrunk[..., r:]
    # Of Z_f'V^-1 Z_f = Z_f'V_f^-1 Z_f - Z_f'V_f^-1 R N R'V_f^-1 Z_f, summed over levels.
    remaining = _times_psi(parts, factors, psi, np.eye(r) - shrunk[..., :r].swapaxes(1, 2))
    by_effect = [np.ascontiguousarray(with_r[:, effect::q]) for effect in range(q)]
    taken = [[np.vdot(remaining, _inner(one, other)) for other in by_effect] for one in by_effect]
    sums = [solved[..., :q].sum(axis=(0, 1)) - np.array(taken)]
    with_fixed: list[NDArray[np.floating]] = [own.reshape(count, levels, q, -1)]
    for factor, (n, rows) in zip(factors[1:], _rows_of_others(parts, factors), strict=True):
        blocks = of_others[:, rows, rows].reshape(count, n, factor.q, n, factor.q)
        sums.append(np.einsum("pgagb->ab", blocks))
        with_fixed.append(of_others[:, rows, r:].reshape(count, n, factor.q, -1))
    return _Solved(log_determinant + further, explained, sums, with_fixed)


def _inner(left: Array, right: Array) -> Array:
    """Return left'right, (P, a, b), of (P, n, a) and (P, n, b)."""
    return left.swapaxes(1, 2) @ right


def _divided(left: Array, inner: Array) -> tuple[NDArray[np.floating], float]:
    """Return inner^-1 left, (P, r, c), and the sum of ln|inner|.

    Of one part alone, which may be large, the factors are made once for both; of several, which
    are small, calls cost more than factors.
    """
    if len(inner) > 1:
        return np.linalg.solve(inner, left), float(np.linalg.slogdet(inner)[1].sum())
    factored = linalg.lu_factor(inner[0], check_finite=False)
    solved = linalg.lu_solve(factored, left[0], check_finite=False)
    return solved[None], float(np.log(np.abs(np.diag(factored[0]))).sum())


def _times_psi(
    parts: Parts, factors: tuple[Factor, ...], psi: list[Array], right: NDArray[np.floating]
) -> Array:
    """Return Psi_R right for `right` (P, r, c)."""
    product = np.empty_like(right)
    for factor, own, (n, rows) in zip(
        factors[1:], psi[1:], _rows_of_others(parts, factors), strict=True
    ):
        shaped = right[:, rows].reshape(len(right), n, factor.q, -1)
        product[:, rows] = (own @ shaped).reshape(len(right), n * factor.q, -1)
    return product


def _rows_of_others(parts: Parts, factors: tuple[Factor, ...]) -> list[tuple[int, slice]]:
    """Return how many levels a part has of each factor but f, and where its effects are in R."""
    numbers = [own.shape[1] for own in parts.levels[1:]]
    widths = [n * factor.q for n, factor in zip(numbers, factors[1:], strict=True)]
    ends = np.cumsum([0, *widths]).tolist()
    return [(n, slice(*pair)) for n, pair in zip(numbers, pairwise(ends), strict=True)]


def _psi(factor: Factor, psi: list[Array]) -> Array:
    """Return the covariance (q, q) of a factor's effects: its terms are independent."""
    joint = np.zeros((factor.q, factor.q))
    for term, place in zip(factor.terms, factor.places, strict=True):
        joint[place, place] = psi[term]
    return joint


def _connected(codes: list[Ints], factors: tuple[Factor, ...]) -> list[list[Ints]]:
    """Return the levels of each factor in each part of the data that rows connect."""
    starts = np.cumsum([0, *(factor.levels for factor in factors)])
    first, others = codes[0], codes[1:]
    rows = np.concatenate([first] * len(others))
    columns = np.concatenate(
        [start + code for start, code in zip(starts[1:], others, strict=False)]
    )
    graph = sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=2 * (starts[-1],))
    count, part = sparse.csgraph.connected_components(graph, directed=False)
    by_factor = [part[start:end] for start, end in pairwise(starts)]
    return [[np.flatnonzero(own == number) for own in by_factor] for number in range(count)]


def _effects(factor: Factor, levels: Ints) -> Ints:
    """Return the places of the effects of some levels among those of all."""
    return (levels[:, None] * factor.q + np.arange(factor.q)).ravel()


def _products(codes: Ints, levels: int, left: Array, right: Array) -> Array:
    """Return left'right of the rows of each level, (levels, columns left, columns right)."""
    sums = [
        [np.bincount(codes, weights=one * other, minlength=levels) for other in right.T]
        for one in left.T
    ]
    return np.moveaxis(np.array(sums), 2, 0)


def _crossed(
    codes: list[Ints], factors: tuple[Factor, ...], z: list[Array], i: int, j: int
) -> Array:
    """Return the products (effects of i, effects of j) of two factors' columns."""
    levels = factors[j].levels
    pair = codes[i] * levels + codes[j]
    sums = _products(pair, factors[i].levels * levels, z[i], z[j])
    shaped = sums.reshape(factors[i].levels, levels, factors[i].q, factors[j].q)
    return shaped.transpose(0, 2, 1, 3).reshape(factors[i].effects, factors[j].effects)
