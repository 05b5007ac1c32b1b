"""Fitting linear mixed models to group moments, or to rows where grouping factors are crossed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, overload

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.basis import (
    basis,
    check_determined,
    check_names,
    check_residual,
    response_scale,
)
from lingprob.stats.linear_mixed.blocks import (
    BlockMoments,
    crossed_moments,
    factors_of,
    grouped_moments,
)
from lingprob.stats.linear_mixed.crossed_data import CrossedData
from lingprob.stats.linear_mixed.formula import INTERCEPT, MixedFormula, parse_formula
from lingprob.stats.linear_mixed.likelihood import ModelMoments
from lingprob.stats.linear_mixed.moments import Array, Columns, MixedModelData
from lingprob.stats.linear_mixed.objectives import OneTerm, SeveralTerms
from lingprob.stats.linear_mixed.optimise import Optimum, best_optimum
from lingprob.stats.linear_mixed.result import CrossedFit, Method, MixedFit

# Random effects of all factors but the largest, whose covariance is inverted as a whole.
MOST_EFFECTS = 5000


@overload
def fit_mixed_models(
    data: MixedModelData,
    formulas: Iterable[str | MixedFormula],
    method: Method = ...,
    starts: int = ...,
) -> list[MixedFit]: ...
@overload
def fit_mixed_models(
    data: CrossedData,
    formulas: Iterable[str | MixedFormula],
    method: Method = ...,
    starts: int = ...,
) -> list[MixedFit | CrossedFit]: ...
def fit_mixed_models(
    data: MixedModelData | CrossedData,
    formulas: Iterable[str | MixedFormula],
    method: Method = "ML",
    starts: int = 3,
) -> Any:
    """Fit each formula to the data; all share the data's one pass.

    A formula with one grouping factor gives a MixedFit, one with several a CrossedFit, for which
    the data must be CrossedData. `starts` optima are sought from different starts and the best is
    kept. Raises LingprobError for formulas outside the scope, unknown names, and models that the
    data do not determine.
    """
    if method not in ("ML", "REML") or starts < 1:
        raise LingprobError(f"method={method!r}, starts={starts}: need ML or REML, and a start.")
    parsed = [parse_formula(text) if isinstance(text, str) else text for text in formulas]
    return [_fit(data, formula, method, starts) for formula in parsed]


class _Scaled:
    """A model's columns on scales of about 1, and the way back to the data's own."""

    def __init__(self, data: Columns, formula: MixedFormula) -> None:
        check_names(data, formula)
        self.formula, self.data = formula, data
        self.fixed = basis(data, formula.fixed)
        self.random = [basis(data, term.effects) for term in formula.terms]
        check_determined(data, formula, self.fixed, self.random)
        self.centre, self.spread = response_scale(data, formula)
        of_response = np.zeros((len(data.shift), 1))
        of_response[-1] = 1 / self.spread
        of_response[0] = (data.shift[-1] - self.centre) / self.spread
        self.right = np.hstack([self.fixed.scaled, of_response])

    def covariance(self, at: int, psi: Array) -> pd.DataFrame:
        """Return a term's covariance for a `psi` (q, q) that is of scaled columns."""
        names, own = list(self.formula.terms[at].effects), self.random[at].to_own
        return pd.DataFrame(own @ psi @ own.T, names, names)

    def common(self, method: Method, optimum: Optimum, deviances: list[float]) -> dict[str, Any]:
        """Return what every fit tells."""
        at, fixed, spread = optimum.profile, self.fixed, self.spread
        variance = at.residual / at.freedom * spread**2
        beta = spread * fixed.to_own @ at.beta
        if INTERCEPT in self.formula.fixed:
            beta[self.formula.fixed.index(INTERCEPT)] += self.centre
        # Densities of the response and, under REML, of X in their own units.
        constant = 2 * at.freedom * np.log(spread)
        if method == "REML":
            constant -= 2 * np.linalg.slogdet(fixed.to_own)[1]
        ends = tuple(float(-(deviance + constant) / 2) for deviance in deviances)
        inverse = np.linalg.solve(at.triangle, fixed.to_own.T)
        names = list(self.formula.fixed)
        return {
            "formula": self.formula,
            "method": method,
            "fixed_effects": pd.Series(beta, index=names),
            "fixed_covariance": pd.DataFrame(variance * inverse.T @ inverse, names, names),
            "sigma": float(np.sqrt(variance)),
            "log_likelihood": max(ends),
            "n": self.data.n,
            "converged": optimum.converged,
            "newton_decrement": optimum.newton_decrement,
            "gradient_norm": optimum.gradient_norm,
            "curvature": optimum.curvature,
            "iterations": optimum.iterations,
            "start_log_likelihoods": ends,
        }


def _fit(
    data: MixedModelData | CrossedData, formula: MixedFormula, method: Method, starts: int
) -> MixedFit | CrossedFit:
    if isinstance(data, CrossedData) and len(formula.groups) == 1:
        check_names(data, formula)
        data = data.by(formula.groups[0])
    scaled = _Scaled(data, formula)
    if isinstance(data, MixedModelData):
        return _fit_by_group(data, scaled, method, starts)
    return _fit_crossed(data, scaled, method, starts)


def _fit_by_group(data: MixedModelData, scaled: _Scaled, method: Method, starts: int) -> MixedFit:
    """Fit a model with one grouping factor."""
    formula, reml = scaled.formula, method == "REML"
    z = np.hstack([own.scaled for own in scaled.random])
    with_z = z.T @ data.moments @ np.hstack([z, scaled.right])
    total = scaled.right.T @ data.total @ scaled.right
    check_residual(formula.text, with_z, total, data.n)
    if len(formula.terms) == 1:
        optimum, deviances = best_optimum(
            OneTerm(ModelMoments(with_z, total, data.n), reml), starts
        )
        at, q = optimum.profile, len(formula.random)
        psi = [optimum.factor @ optimum.factor.T]
        weighted = [at.solved[:, :, -1] - at.solved[:, :, q:-1] @ at.beta]
    else:
        (factor,) = factors_of(formula, {data.group: len(data.groups)})
        moments = grouped_moments(factor, with_z, total, data.n)
        optimum, deviances, psi = _several(moments, formula, reml, starts)
        at, weighted = optimum.profile, optimum.profile.weighted
    variance = at.residual / at.freedom * scaled.spread**2
    names = [name for term in formula.terms for name in term.effects]
    own = [scaled.covariance(number, each) for number, each in enumerate(psi)]
    covariance = pd.DataFrame(variance * block_diag(*own), names, names)
    effects = pd.concat(_modes(scaled, psi, weighted), axis=1)
    return MixedFit(
        **scaled.common(method, optimum, deviances),
        smallest_eigenvalue=_smallest(psi),
        covariance=covariance.loc[list(formula.random), list(formula.random)],
        n_groups=len(data.groups),
        random_effects=effects[list(formula.random)],
    )


def _fit_crossed(data: CrossedData, scaled: _Scaled, method: Method, starts: int) -> CrossedFit:
    """Fit a model with several grouping factors."""
    formula = scaled.formula
    levels = {name: len(data.levels(name)) for name in formula.groups}
    factors = factors_of(formula, levels)
    if (others := sum(factor.effects for factor in factors[1:])) > MOST_EFFECTS:
        raise LingprobError(
            f"{formula.text!r}: {others} random effects by "
            f"{', '.join(factor.name for factor in factors[1:])}. Besides the largest factor, "
            f"{factors[0].name}, {MOST_EFFECTS} are fitted at most."
        )
    for factor in factors:
        # Effects of one factor, free, that determine the response do so within the others, too.
        z = np.hstack([scaled.random[at].scaled for at in factor.terms])
        with_z = z.T @ data.by(factor.name).moments @ np.hstack([z, scaled.right])
        check_residual(formula.text, with_z, scaled.right.T @ data.total @ scaled.right, data.n)
    moments = crossed_moments(data, factors, scaled.random, scaled.right)
    optimum, deviances, psi = _several(moments, formula, method == "REML", starts)
    at = optimum.profile
    variance = at.residual / at.freedom * scaled.spread**2
    return CrossedFit(
        **scaled.common(method, optimum, deviances),
        smallest_eigenvalue=_smallest(psi),
        covariances=[variance * scaled.covariance(number, each) for number, each in enumerate(psi)],
        n_levels=levels,
        random_effects=_modes(scaled, psi, at.weighted),
    )


def _several(
    moments: BlockMoments, formula: MixedFormula, reml: bool, starts: int
) -> tuple[Optimum, list[float], list[Array]]:
    """Return the best optimum, the deviances at all, and the best Psi of each term."""
    sizes = tuple(len(term.effects) for term in formula.terms)
    objective = SeveralTerms(moments, sizes, reml)
    optimum, deviances = best_optimum(objective, starts)
    return optimum, deviances, [own @ own.T for own in objective.split(optimum.factor)]


def _modes(scaled: _Scaled, psi: list[Array], weighted: list[Array]) -> list[pd.DataFrame]:
    """Return each term's conditional means of the random effects, a frame levels by effects."""
    return [
        pd.DataFrame(
            scaled.spread * own_weighted @ own_psi @ own.to_own.T,
            scaled.data.levels(term.group),
            list(term.effects),
        )
        for term, own, own_psi, own_weighted in zip(
            scaled.formula.terms, scaled.random, psi, weighted, strict=True
        )
    ]


def _smallest(psi: list[Array]) -> float:
    return float(max(min(np.linalg.eigvalsh(own)[0] for own in psi), 0.0))
