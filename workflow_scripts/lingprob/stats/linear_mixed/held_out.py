"""Log-likelihood of held-out data under a fitted linear mixed model."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.stats.linear_mixed.basis import basis, check_names
from lingprob.stats.linear_mixed.formula import MixedFormula
from lingprob.stats.linear_mixed.moments import MixedModelData

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
    # The residuals y - X beta as a combination (k + 2,) of the data's columns.
    residual = -fixed.columns @ fixed_effects
    residual[0] += data.shift[-1]
    residual[-1] += 1
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
