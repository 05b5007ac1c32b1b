"""Log-likelihood of held-out data under a fitted linear mixed model."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.stats.linear_mixed.basis import Basis, basis, check_names
from lingprob.stats.linear_mixed.blocks import factors_of, integrated, residual_moments
from lingprob.stats.linear_mixed.crossed_data import CrossedData
from lingprob.stats.linear_mixed.formula import MixedFormula
from lingprob.stats.linear_mixed.moments import Columns, MixedModelData

Array = NDArray[np.float64]


def held_out_log_likelihood(
    data: MixedModelData,
    formula: MixedFormula,
    fixed_effects: Array,
    covariance: Array,
    sigma: float,
    random_effects: pd.DataFrame | None = None,
) -> pd.Series:
    """Return the log-likelihood (nats) of each group's rows, a Series (G,).

    Marginal by default: the random effects are integrated out under their fitted `covariance`
    (q, q), so that a group not seen in fitting is like any other. Given `random_effects`, a frame
    of groups by q effects, it is conditional on them; a group without is taken to have none.

    The data must be on the scale of the fit: where predictors are standardised, standardise the
    held-out data like the data that were fitted. `data.standardised()` on its own is the variant
    of the code of the paper's authors, who scale held-out predictors by their own deviations.
    """
    check_names(data, formula)
    fixed, random = basis(data, formula.fixed), basis(data, formula.random)
    residual = _residual(data, fixed, fixed_effects)
    if random_effects is None:
        squares, log_determinants = _integrated(data, residual, random.scaled, np.linalg.solve(
            random.to_own, np.linalg.solve(random.to_own, covariance / sigma**2).T))  # fmt: skip
    else:
        effects = random_effects.reindex(data.groups).fillna(0.0).to_numpy()
        own = residual - effects @ random.columns.T
        squares = np.einsum("gi,gij,gj->g", own, data.moments, own)
        log_determinants = np.zeros(len(squares))
    constants = data.counts * np.log(2 * np.pi * sigma**2)
    values = -(constants + log_determinants + squares / sigma**2) / 2
    return pd.Series(values, index=data.groups, name="log_likelihood")


def crossed_log_likelihood(
    data: CrossedData,
    formula: MixedFormula,
    fixed_effects: Array,
    covariances: list[pd.DataFrame],
    sigma: float,
    random_effects: list[pd.DataFrame] | None = None,
) -> float:
    """Return the log-likelihood (nats) of all rows under a fit with several grouping factors.

    Marginal or conditional as held_out_log_likelihood; by term, `covariances` are (q, q) and
    `random_effects` levels by q.
    """
    check_names(data, formula)
    random = [basis(data, term.effects) for term in formula.terms]
    residual = _residual(data, basis(data, formula.fixed), fixed_effects)
    if random_effects is None:
        factors = factors_of(formula, {name: len(data.levels(name)) for name in formula.groups})
        moments = residual_moments(data, factors, random, residual)
        psi = [covariance.to_numpy() / sigma**2 for covariance in covariances]
        square, log_determinant = integrated(moments, psi)
    else:
        left = data.columns @ residual
        for term, own, modes in zip(formula.terms, random, random_effects, strict=True):
            effects = modes.reindex(data.levels(term.group)).fillna(0.0).to_numpy()
            left -= (data.columns @ own.columns * effects[data.codes[term.group]]).sum(axis=1)
        square, log_determinant = float(left @ left), 0.0
    constant = data.n * np.log(2 * np.pi * sigma**2)
    return float(-(constant + log_determinant + square / sigma**2) / 2)


def _residual(data: Columns, fixed: Basis, fixed_effects: Array) -> Array:
    """Return the residuals y - X beta as a combination (k + 2,) of the data's columns."""
    residual = -fixed.columns @ fixed_effects
    residual[0] += data.shift[-1]
    residual[-1] += 1
    return residual


def _integrated(
    data: MixedModelData, residual: Array, scaled: Array, psi: Array
) -> tuple[Array, Array]:
    """Return e'V^-1 e and ln|V| of each group, (G,), with V = I + Z Psi Z'."""
    with_residual = data.moments @ residual
    inner = np.eye(len(psi)) + scaled.T @ data.moments @ scaled @ psi
    by_effect = with_residual @ scaled
    explained = np.linalg.solve(inner, by_effect[:, :, None])[:, :, 0] @ psi
    squares = with_residual @ residual - (by_effect * explained).sum(axis=1)
    return squares, np.linalg.slogdet(inner)[1]
