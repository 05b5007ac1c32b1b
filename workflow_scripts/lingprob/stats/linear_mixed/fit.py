"""Fits of linear mixed models to group moments, and the reduction of their random effects."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.formula import INTERCEPT, MixedFormula, parse_formula
from lingprob.stats.linear_mixed.likelihood import ModelMoments
from lingprob.stats.linear_mixed.moments import (
    Array,
    Basis,
    MixedModelData,
    basis,
    check_determined,
    check_names,
    check_residual,
    response_scale,
)
from lingprob.stats.linear_mixed.optimise import Deviance, best_optimum

logger = logging.getLogger(__name__)

# lme4's tolerance of a singular fit: a standard deviation relative to that of the residuals.
SINGULAR = 1e-4


@dataclass(frozen=True)
class MixedFit:
    """A linear mixed model fitted by maximum likelihood, p fixed and q random effects.

    - fixed_effects, standard_errors: Series (p,); fixed_covariance: frame (p, p), their
      covariance, as lme4's vcov gives it.
    - covariance: frame (q, q), of the random effects between groups.
    - sigma: standard deviation of the residuals. Units are those of the data.
    - log_likelihood: maximised, nats; start_log_likelihoods: where each start ended.
    - converged: nothing above 1e-7 nats is left to gain, the end is no saddle, and if there were
      several starts, two of them at least ended there, none above it.
      newton_decrement: that gain to second order, in nats, moves off the boundary included.
    - smallest_eigenvalue: of the random effects' covariance relative to sigma squared, predictors
      scaled to standard deviation 1; singular: its root is below 1e-4, as lme4's isSingular.
    """

    formula: MixedFormula
    fixed_effects: pd.Series
    fixed_covariance: pd.DataFrame
    covariance: pd.DataFrame
    sigma: float
    log_likelihood: float
    start_log_likelihoods: tuple[float, ...]
    converged: bool
    newton_decrement: float
    smallest_eigenvalue: float

    @cached_property
    def standard_errors(self) -> pd.Series:
        """Standard errors of the fixed effects."""
        variances = np.diag(self.fixed_covariance.to_numpy())
        return pd.Series(np.sqrt(variances), index=self.fixed_effects.index)

    @property
    def singular(self) -> bool:
        """Whether some combination of the random effects has (nearly) no variance."""
        return bool(self.smallest_eigenvalue < SINGULAR**2)

    def held_out_log_likelihood(self, data: MixedModelData) -> pd.Series:
        """Return the log-likelihood (nats) of each group's rows in other data, a Series (G,).

        It is marginal: the random effects are integrated out under their covariance, so that a
        group that was not fitted is like any other. The data must be on the scale of the fit:
        standardise their predictors like those that were fitted.
        """
        check_names(data, self.formula)
        fixed, random = basis(data, self.formula.fixed), basis(data, self.formula.random)
        residual = -fixed.columns @ self.fixed_effects.to_numpy()
        residual[0] += data.shift[-1]
        residual[-1] += 1
        psi = self.covariance.to_numpy() / self.sigma**2
        psi = np.linalg.solve(random.to_own, np.linalg.solve(random.to_own, psi).T)
        squares, log_determinants = _integrated(data, residual, random.scaled, psi)
        constants = data.counts * np.log(2 * np.pi * self.sigma**2)
        values = -(constants + log_determinants + squares / self.sigma**2) / 2
        return pd.Series(values, index=data.groups, name="log_likelihood")


def fit_mixed_models(
    data: MixedModelData, formulas: Iterable[str | MixedFormula], starts: int = 3
) -> list[MixedFit]:
    """Fit each formula to the data; all share the data's one pass.

    `starts` optima are sought from different starts and the best is kept. Raises LingprobError for
    formulas outside the scope, unknown names, and models that the data do not determine.
    """
    if starts < 1:
        raise LingprobError(f"starts={starts}: a fit needs a start.")
    parsed = [parse_formula(text) if isinstance(text, str) else text for text in formulas]
    return [_fit(data, formula, starts) for formula in parsed]


def reduce_random_effects(
    data: MixedModelData, formulas: Iterable[str], roles: Mapping[str, str]
) -> tuple[list[MixedFit], dict[str, float]]:
    """Take out the least predictive random slope, again and again, until all models converge.

    All formulas keep one structure (leakage, appendix B). The least predictive slope is the one
    whose removal costs all fits together the least log-likelihood. Fits here end at their optimum
    where lme4 stops short of it with a warning, usually because the covariance is singular: so a
    singular fit counts as one that does not converge.

    Args:
        data: that all formulas are fitted to.
        formulas: with the maximal structure.
        roles: what predictors stand for ({'surprisal_gpt2': 'surprisal', ...}), so that the slopes
            of different models' predictors in one role go together; others stand for themselves.

    Returns:
        The fits, in the order of `formulas`; and the log-likelihood (nats, all fits together) that
        each slope cost, by role in the order in which they were taken out.

    Raises LingprobError if the models do not converge and no slope can be taken out: no model loses
    its last random effect.
    """
    current = [parse_formula(text) for text in formulas]
    removed: dict[str, float] = {}
    fits = fit_mixed_models(data, current)
    while not all(map(settled, fits)):
        candidates = {}
        for role in _slope_roles(current, roles):
            without = [_without(formula, role, roles) for formula in current]
            candidates[role] = without, fit_mixed_models(data, without)
        if not candidates:
            fit = next(fit for fit in fits if not settled(fit))
            raise LingprobError(
                f"{fit.formula.text!r} has no random slope to spare and does not converge: "
                f"standard deviation between groups {fit.covariance.iloc[0, 0] ** 0.5:.3g}."
            )
        before = _total(fits)
        role = max(candidates, key=lambda name: _total(candidates[name][1]))
        current, fits = candidates[role]
        removed[role] = before - _total(fits)
        logger.info("random slope of %s taken out: %.3f nats less", role, removed[role])
    return fits, removed


def settled(fit: MixedFit) -> bool:
    """Tell whether nothing is to be taken out for a fit's sake."""
    return fit.converged and not fit.singular


def _total(fits: list[MixedFit]) -> float:
    return sum(fit.log_likelihood for fit in fits)


def _slope_roles(formulas: list[MixedFormula], roles: Mapping[str, str]) -> list[str]:
    """Return the roles of slopes whose removal leaves every formula a random effect."""
    slopes = [name for formula in formulas for name in formula.random if name != INTERCEPT]
    found = dict.fromkeys(roles.get(name, name) for name in slopes)
    return [role for role in found if all(_without(each, role, roles).random for each in formulas)]


def _without(formula: MixedFormula, role: str, roles: Mapping[str, str]) -> MixedFormula:
    for name in formula.random:
        if roles.get(name, name) == role:
            formula = formula.without_random(name)
    return formula


def _fit(data: MixedModelData, formula: MixedFormula, starts: int) -> MixedFit:
    check_names(data, formula)
    fixed, random = basis(data, formula.fixed), basis(data, formula.random)
    check_determined(data, formula, fixed, random)
    centre, spread = response_scale(data, formula)
    moments = _model_moments(data, fixed, random, (centre, spread))
    check_residual(formula.text, moments.with_z, moments.total, data.n)
    optimum, deviances = best_optimum(Deviance(moments), starts)
    at, psi = optimum.profile, optimum.factor @ optimum.factor.T
    variance = at.residual / data.n * spread**2
    beta = spread * fixed.to_own @ at.beta
    if INTERCEPT in formula.fixed:
        beta[formula.fixed.index(INTERCEPT)] += centre
    # Densities of the response in its own unit.
    constant = 2 * data.n * np.log(spread)
    ends = tuple(float(-(deviance + constant) / 2) for deviance in deviances)
    inverse = np.linalg.solve(at.triangle, fixed.to_own.T)
    names, effects = list(formula.fixed), list(formula.random)
    own = random.to_own @ psi @ random.to_own.T
    return MixedFit(
        formula=formula,
        fixed_effects=pd.Series(beta, index=names),
        fixed_covariance=pd.DataFrame(variance * inverse.T @ inverse, names, names),
        covariance=pd.DataFrame(variance * own, effects, effects),
        sigma=float(np.sqrt(variance)),
        log_likelihood=max(ends),
        start_log_likelihoods=ends,
        converged=optimum.converged,
        newton_decrement=optimum.newton_decrement,
        smallest_eigenvalue=float(max(np.linalg.eigvalsh(psi)[0], 0.0)),
    )


def _model_moments(
    data: MixedModelData, fixed: Basis, random: Basis, scale: tuple[float, float]
) -> ModelMoments:
    """Return the moments of a model's scaled columns; `scale` is the response's."""
    centre, spread = scale
    of_response = np.zeros((len(data.shift), 1))
    of_response[-1] = 1 / spread
    of_response[0] = (data.shift[-1] - centre) / spread
    right, z = np.hstack([fixed.scaled, of_response]), random.scaled
    with_z = z.T @ data.moments @ np.hstack([z, right])
    return ModelMoments(with_z, right.T @ data.total @ right, data.n)


def _integrated(
    data: MixedModelData, residual: Array, scaled: Array, psi: NDArray[np.floating]
) -> tuple[Array, Array]:
    """Return e'V^-1 e and ln|V| of each group, (G,), with V = I + Z Psi Z'."""
    with_residual = data.moments @ residual
    inner = np.eye(len(psi)) + scaled.T @ data.moments @ scaled @ psi
    by_effect = with_residual @ scaled
    explained = np.linalg.solve(inner, by_effect[:, :, None])[:, :, 0] @ psi
    squares = with_residual @ residual - (by_effect * explained).sum(axis=1)
    return squares, np.linalg.slogdet(inner)[1]
