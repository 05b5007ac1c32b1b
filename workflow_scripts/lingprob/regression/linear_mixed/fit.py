"""Fitting linear mixed models to group moments."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.regression.linear_mixed.basis import (
    Basis,
    basis,
    check_determined,
    check_names,
    check_residual,
    response_scale,
)
from lingprob.regression.linear_mixed.formula import INTERCEPT, MixedFormula, parse_formula
from lingprob.regression.linear_mixed.likelihood import ModelMoments
from lingprob.regression.linear_mixed.moments import MixedModelData
from lingprob.regression.linear_mixed.optimise import Optimum, best_optimum
from lingprob.regression.linear_mixed.result import Method, MixedFit


def fit_mixed_models(
    data: MixedModelData,
    formulas: Iterable[str | MixedFormula],
    method: Method = "ML",
    starts: int = 3,
) -> list[MixedFit]:
    """Fit each formula to the data; all share the data's one pass.

    `starts` optima are sought from different starts and the best is kept. Raises LingprobError
    for formulas outside the scope, unknown names, and models that the data do not determine.
    """
    if method not in ("ML", "REML") or starts < 1:
        raise LingprobError(f"method={method!r}, starts={starts}: need ML or REML, and a start.")
    parsed = [parse_formula(text) if isinstance(text, str) else text for text in formulas]
    return [_fit(data, formula, method, starts) for formula in parsed]


def _fit(data: MixedModelData, formula: MixedFormula, method: Method, starts: int) -> MixedFit:
    check_names(data, formula)
    fixed, random = basis(data, formula.fixed), basis(data, formula.random)
    check_determined(data, formula, fixed, random)
    centre, spread = response_scale(data, formula)
    of_response = np.zeros((len(data.shift), 1))
    of_response[-1], of_response[0] = 1 / spread, (data.shift[-1] - centre) / spread
    right = np.hstack([random.scaled, fixed.scaled, of_response])
    q = len(formula.random)
    moments = ModelMoments(
        with_z=random.scaled.T @ data.moments @ right,
        total=right[:, q:].T @ data.moments.sum(axis=0) @ right[:, q:],
        n=data.n,
    )
    check_residual(formula.text, moments.with_z, moments.total, data.n)
    optimum, deviances = best_optimum(moments, method == "REML", starts)
    # Densities of the response and, under REML, of X in their own units.
    constant = 2 * optimum.profile.freedom * np.log(spread)
    if method == "REML":
        constant -= 2 * np.linalg.slogdet(fixed.to_own)[1]
    ends = tuple(float(-(deviance + constant) / 2) for deviance in deviances)
    return _named(data, formula, method, optimum, fixed, random, centre, spread, ends)


def _named(
    data: MixedModelData,
    formula: MixedFormula,
    method: Method,
    optimum: Optimum,
    fixed: Basis,
    random: Basis,
    centre: float,
    spread: float,
    ends: tuple[float, ...],
) -> MixedFit:
    """Take an optimum in scaled coordinates to the data's own, with names."""
    at, psi, q = optimum.profile, optimum.factor @ optimum.factor.T, len(formula.random)
    variance = at.residual / at.freedom * spread**2
    beta = spread * fixed.to_own @ at.beta
    if INTERCEPT in formula.fixed:
        beta[formula.fixed.index(INTERCEPT)] += centre
    inverse = np.linalg.solve(at.triangle, fixed.to_own.T)
    fixed_names, random_names = list(formula.fixed), list(formula.random)
    weighted = at.solved[:, :, -1] - at.solved[:, :, q:-1] @ at.beta
    return MixedFit(
        formula=formula,
        method=method,
        fixed_effects=pd.Series(beta, index=fixed_names),
        fixed_covariance=pd.DataFrame(variance * inverse.T @ inverse, fixed_names, fixed_names),
        covariance=pd.DataFrame(
            variance * random.to_own @ psi @ random.to_own.T, random_names, random_names
        ),
        sigma=float(np.sqrt(variance)),
        log_likelihood=max(ends),
        n=data.n,
        n_groups=len(data.groups),
        converged=optimum.converged,
        newton_decrement=optimum.newton_decrement,
        gradient_norm=optimum.gradient_norm,
        curvature=optimum.curvature,
        iterations=optimum.iterations,
        start_log_likelihoods=ends,
        smallest_eigenvalue=float(max(np.linalg.eigvalsh(psi)[0], 0.0)),
        random_effects=pd.DataFrame(
            spread * weighted @ psi @ random.to_own.T, data.groups, random_names
        ),
    )
