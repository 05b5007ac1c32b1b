"""Fit linear mixed models to group moments."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stats.least_squares import INTERCEPT, finite_column
from lingprob.stats.linear_mixed.likelihood import ModelMoments, best_optimum
from lingprob.stats.linear_mixed.moments import (
    Array,
    Basis,
    MixedFormula,
    MixedModelData,
    basis,
    check_determined,
    check_names,
    check_residual,
    parse_formula,
)

# lme4's tolerance of a singular fit: a standard deviation relative to that of the residuals.
SINGULAR = 1e-4
STARTS = 3


@dataclass(frozen=True)
class MixedFit:
    """A linear mixed model fitted by maximum likelihood, p fixed and q random effects.

    - fixed_effects, standard_errors: Series (p,).
    - fixed_covariance: frame (p, p), their covariance, as lme4's vcov gives it.
    - covariance: frame (q, q), of the random effects between groups.
    - sigma: standard deviation of the residuals, in the response's unit.
    - log_likelihood: maximum, in nats. start_log_likelihoods: the maximum from each start.
    - converged: nothing above 1e-7 nats is left to gain, the end is no saddle, and if there were
      several starts, at least two of them ended there and none above it.
      newton_decrement: that gain to second order, in nats, moves off the boundary included.
    - smallest_eigenvalue: of the random effects' covariance relative to sigma squared, predictors
      scaled to standard deviation 1. singular: its root is below 1e-4, as lme4's isSingular.
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
        """Return standard errors (in the response's unit) of the fixed effects, by term."""
        variances = np.diag(self.fixed_covariance.to_numpy())
        return pd.Series(np.sqrt(variances), index=self.fixed_effects.index)

    @property
    def singular(self) -> bool:
        """Return whether some combination of the random effects has (nearly) no variance."""
        return bool(self.smallest_eigenvalue < SINGULAR**2)

    def held_out_log_likelihoods(self, frame: pd.DataFrame, item: str) -> pd.Series:
        """Return the log-likelihood (nats) of other data, by group and item, sorted.

        It is marginal: the random effects are integrated out under their covariance, so a group
        that was not fitted is like any other. An item's share is its likelihood given the group's
        earlier items, in the order of their names. So the shares of a group sum to the
        log-likelihood of all its rows. The data must be on the scale of the fit: standardise their
        predictors like those that were fitted. Raises LingprobError as `finite_column`.
        """
        for name in (*self.formula.predictors, self.formula.response):
            finite_column(frame, name)
        keys = [self.formula.group, item]
        labels = pd.MultiIndex.from_frame(frame[keys])
        if not labels.is_monotonic_increasing:
            return self.held_out_log_likelihoods(frame.sort_values(keys, kind="stable"), item)
        first = np.flatnonzero(~labels.duplicated())
        frame = frame.assign(**{INTERCEPT: 1.0})
        expected = frame[list(self.formula.fixed)].to_numpy(float) @ self.fixed_effects.to_numpy()
        residual = frame[self.formula.response].to_numpy(float) - expected
        columns = np.column_stack([frame[list(self.formula.random)].to_numpy(float), residual])
        q = columns.shape[1] - 1
        products = columns[:, :, None] * columns[:, None, :]
        by_item = pd.DataFrame(
            np.add.reduceat(products.reshape(len(frame), -1), first), labels[first]
        )
        by_item["rows"] = np.diff(np.append(first, len(frame)))
        so_far = by_item.groupby(level=0).cumsum().to_numpy()
        moments = so_far[:, :-1].reshape(-1, q + 1, q + 1)
        psi = self.covariance.to_numpy() / self.sigma**2
        inner = np.eye(q) + moments[:, :q, :q] @ psi
        explained = np.linalg.solve(inner, moments[:, :q, q:])[:, :, 0] @ psi
        squares = moments[:, q, q] - (moments[:, q, :q] * explained).sum(axis=1)
        constants = so_far[:, -1] * np.log(2 * np.pi * self.sigma**2)
        total = -(constants + np.linalg.slogdet(inner)[1] + squares / self.sigma**2) / 2
        until = pd.Series(total, by_item.index)
        return until - until.groupby(level=0).shift(fill_value=0.0)


def fit_mixed_models(
    data: MixedModelData, formulas: Iterable[str | MixedFormula]
) -> list[MixedFit]:
    """Return the fit of each formula to the data, the best of searches from several starts.

    Raises LingprobError for bad formulas, and for models that the data do not identify.
    """
    parsed = [parse_formula(text) if isinstance(text, str) else text for text in formulas]
    return [_fit(data, formula) for formula in parsed]


def _fit(data: MixedModelData, formula: MixedFormula) -> MixedFit:
    """Return the maximum-likelihood fit of one formula."""
    check_names(data, formula)
    fixed, random = basis(data, formula.fixed), basis(data, formula.random)
    check_determined(data, formula, fixed, random)
    centre = float(data.shift[-1]) if INTERCEPT in formula.fixed else 0.0
    spread = float(data.deviations()[-1])
    if spread == 0:
        raise LingprobError(f"{data.response} is {data.shift[-1]:g} in every row: nothing to fit.")
    moments = _model_moments(data, fixed, random, centre, spread)
    check_residual(formula.text, moments)
    optimum, deviances = best_optimum(moments, STARTS)
    at, psi = optimum.profile, optimum.factor @ optimum.factor.T
    variance = at.residual / data.n * spread**2
    beta = spread * fixed.to_own @ at.beta
    if INTERCEPT in formula.fixed:
        beta[formula.fixed.index(INTERCEPT)] += centre
    # Convert to densities of the response in its own unit.
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
    data: MixedModelData, fixed: Basis, random: Basis, centre: float, spread: float
) -> ModelMoments:
    """Return the moments of a model's scaled columns, with the centre and spread of y."""
    of_response: Array = np.zeros((len(data.shift), 1))
    of_response[-1] = 1 / spread
    of_response[0] = (data.shift[-1] - centre) / spread
    right, z = np.hstack([fixed.scaled, of_response]), random.scaled
    with_z = z.T @ data.moments @ np.hstack([z, right])
    return ModelMoments(with_z, right.T @ data.total @ right, data.n)
