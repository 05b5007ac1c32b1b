"""Fitting linear mixed models to group moments."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.basis import (
    basis,
    check_determined,
    check_names,
    check_residual,
    response_scale,
)
from lingprob.stats.linear_mixed.formula import INTERCEPT, MixedFormula, parse_formula
from lingprob.stats.linear_mixed.likelihood import Deviance, ModelMoments
from lingprob.stats.linear_mixed.moments import MixedModelData
from lingprob.stats.linear_mixed.optimise import best_optimum
from lingprob.stats.linear_mixed.result import Method, MixedFit


def fit_mixed_models(
    data: MixedModelData,
    formulas: Iterable[str | MixedFormula],
    method: Method = "ML",
    starts: int = 3,
) -> list[MixedFit]:
    """Fit each formula to the data; all share the data's one pass.

    `starts` optima are sought from different starts and the best is kept. Raises LingprobError for
    formulas outside the scope, unknown names, and models that the data do not determine.
    """
    if method not in ("ML", "REML") or starts < 1:
        raise LingprobError(f"method={method!r}, starts={starts}: need ML or REML, and a start.")
    parsed = [parse_formula(text) if isinstance(text, str) else text for text in formulas]
    return [_fit(data, formula, method, starts) for formula in parsed]


def _fit(data: MixedModelData, formula: MixedFormula, method: Method, starts: int) -> MixedFit:
    """Fit a model whose columns are on scales of about 1, and return it on the data's own."""
    check_names(data, formula)
    fixed, random = basis(data, formula.fixed), basis(data, formula.random)
    check_determined(data, formula, fixed, random)
    centre, spread = response_scale(data, formula)
    response = np.zeros((len(data.shift), 1))
    response[-1] = 1 / spread
    response[0] = (data.shift[-1] - centre) / spread
    right = np.hstack([fixed.scaled, response])
    z = random.scaled
    with_z = z.T @ data.moments @ np.hstack([z, right])
    total = right.T @ data.total @ right
    check_residual(formula.text, with_z, total, data.n)
    moments = ModelMoments(with_z, total, data.n)
    optimum, deviances = best_optimum(Deviance(moments, method == "REML"), starts)

    at, q = optimum.profile, len(formula.random)
    variance = at.residual / at.freedom * spread**2
    beta = spread * fixed.to_own @ at.beta
    if INTERCEPT in formula.fixed:
        beta[formula.fixed.index(INTERCEPT)] += centre
    # Densities of the response and, under REML, of X in their own units.
    constant = 2 * at.freedom * np.log(spread)
    if method == "REML":
        constant -= 2 * np.linalg.slogdet(fixed.to_own)[1]
    ends = tuple(float(-(deviance + constant) / 2) for deviance in deviances)
    inverse = np.linalg.solve(at.triangle, fixed.to_own.T)
    psi = optimum.factor @ optimum.factor.T
    weighted = at.solved[:, :, -1] - at.solved[:, :, q:-1] @ at.beta
    names, effects = list(formula.fixed), list(formula.random)
    return MixedFit(
        formula=formula,
        method=method,
        fixed_effects=pd.Series(beta, index=names),
        fixed_covariance=pd.DataFrame(variance * inverse.T @ inverse, names, names),
        sigma=float(np.sqrt(variance)),
        log_likelihood=max(ends),
        n=data.n,
        converged=optimum.converged,
        newton_decrement=optimum.newton_decrement,
        gradient_norm=optimum.gradient_norm,
        curvature=optimum.curvature,
        iterations=optimum.iterations,
        start_log_likelihoods=ends,
        smallest_eigenvalue=float(max(np.linalg.eigvalsh(psi)[0], 0.0)),
        covariance=pd.DataFrame(
            variance * (random.to_own @ psi @ random.to_own.T), effects, effects
        ),
        random_effects=pd.DataFrame(
            spread * weighted @ psi @ random.to_own.T, data.groups, effects
        ),
    )
