"""Random intercepts by a further factor, added to a fitted model with effects by one factor.

`fit_mixed_models` seeks the covariances of crossed factors from several starts, as it knows nothing
of them. Here one search begins where the fit without these intercepts ended and takes a hundred
evaluations or two, so that ten thousand words and sixty readers with four slopes take a second.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.regression.linear_mixed.basis import (
    Basis,
    basis,
    check_determined,
    check_names,
    response_scale,
)
from lingprob.regression.linear_mixed.blocks import crossed_moments, factors_of
from lingprob.regression.linear_mixed.crossed_data import CrossedData
from lingprob.regression.linear_mixed.formula import INTERCEPT, MixedFormula, parse_formula
from lingprob.regression.linear_mixed.objectives import SeveralTerms
from lingprob.regression.linear_mixed.optimise import Optimum, optimise
from lingprob.regression.linear_mixed.result import CrossedFit, MixedFit

Array = NDArray[np.float64]

# Standard deviation of the added intercepts, of residuals' 1, that the search begins with.
FIRST = 0.3


def add_intercepts(data: CrossedData, fit: MixedFit, factor: str) -> CrossedFit:
    """Fit a model of one random term again, by maximum likelihood, with `(1 | factor)` added.

    Args:
        data: the rows of the fit, with their levels of both factors.
        fit: of a formula with one random term.
        factor: of the added intercepts, one of the data's.

    The fit's first random term is that of `fit`, the second the added one. Raises LingprobError if
    the data lack the factor or do not determine the model.
    """
    formula = parse_formula(f"{fit.formula.text} + (1 | {factor})")
    check_names(data, formula)
    fixed = basis(data, formula.fixed)
    random = [basis(data, term.effects) for term in formula.terms]
    check_determined(data, formula, fixed, random)
    centre, _ = response_scale(data, formula)
    response = np.zeros((len(data.shift), 1))
    response[-1], response[0] = 1, data.shift[-1] - centre
    levels = {name: len(data.levels(name)) for name in formula.groups}
    moments = crossed_moments(
        data, factors_of(formula, levels), random, np.hstack([fixed.scaled, response])
    )
    objective = SeveralTerms(moments, (len(fit.formula.random), 1), reml=False)
    optimum = optimise(objective, np.append(_root(fit, random[0]).ravel(), FIRST))
    psi = [own @ own.T for own in objective.split(optimum.factor)]
    found = _result(data, formula, fixed, random, optimum, psi)
    if INTERCEPT in formula.fixed:
        found.fixed_effects[INTERCEPT] += centre
    return found


def _root(fit: MixedFit, own: Basis) -> Array:
    """Return a square root (q, q) of a fit's covariance, of scaled columns and residuals' 1."""
    to_scaled = np.linalg.inv(own.to_own)
    values, axes = np.linalg.eigh(to_scaled @ fit.covariance.to_numpy() @ to_scaled.T)
    return axes * np.sqrt(np.maximum(values, 0)) / fit.sigma


def _result(
    data: CrossedData,
    formula: MixedFormula,
    fixed: Basis,
    random: list[Basis],
    optimum: Optimum,
    psi: list[Array],
) -> CrossedFit:
    """Return the fit that the search ended with, in the data's own units."""
    at = optimum.profile
    variance = at.residual / at.freedom
    beta = pd.Series(fixed.to_own @ at.beta, list(formula.fixed))
    inverse = np.linalg.solve(at.triangle, fixed.to_own.T)
    log_likelihood = -at.deviance / 2
    covariances, modes = [], []
    for term, own, own_psi, weighted in zip(formula.terms, random, psi, at.weighted, strict=True):
        names = list(term.effects)
        covariance = variance * own.to_own @ own_psi @ own.to_own.T
        covariances.append(pd.DataFrame(covariance, names, names))
        effects = weighted @ own_psi @ own.to_own.T
        modes.append(pd.DataFrame(effects, data.levels(term.group), names))
    return CrossedFit(
        formula=formula,
        method="ML",
        fixed_effects=beta,
        fixed_covariance=pd.DataFrame(variance * inverse.T @ inverse, beta.index, beta.index),
        sigma=float(np.sqrt(variance)),
        log_likelihood=log_likelihood,
        n=data.n,
        converged=optimum.converged,
        newton_decrement=optimum.newton_decrement,
        gradient_norm=optimum.gradient_norm,
        curvature=optimum.curvature,
        iterations=optimum.iterations,
        start_log_likelihoods=(log_likelihood,),
        smallest_eigenvalue=float(max(min(np.linalg.eigvalsh(own)[0] for own in psi), 0.0)),
        covariances=covariances,
        n_levels={name: len(data.levels(name)) for name in formula.groups},
        random_effects=modes,
    )
