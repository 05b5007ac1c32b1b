"""What a fitted linear mixed model tells and predicts."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.formula import INTERCEPT, MixedFormula, evaluate_terms
from lingprob.stats.linear_mixed.held_out import held_out_log_likelihood
from lingprob.stats.linear_mixed.moments import MixedModelData, check_finite, group_codes

Array = NDArray[np.float64]
Method = Literal["ML", "REML"]
Kind = Literal["marginal", "conditional"]
Per = Literal["sum", "observation", "group"]

# lme4's tolerance of a singular fit: a standard deviation relative to that of the residuals.
SINGULAR = 1e-4


@dataclass(frozen=True)
class MixedFit:
    """A linear mixed model fitted to n rows, with p fixed and q random effects.

    - fixed_effects, standard_errors: Series (p,); fixed_covariance: frame (p, p), their
      covariance, as lme4's vcov gives it.
    - sigma: standard deviation of the residuals (ML: n, REML: n - p in the denominator). Units
      are those of the data.
    - log_likelihood: maximised, nats; under REML the restricted one.
    - converged: nothing above 1e-7 nats is left to gain, the end is no saddle, and where several
      starts were made two of them at least ended there, none above it.
      newton_decrement: that gain to second order, in nats, moves off the boundary included.
      gradient_norm: largest derivative of the deviance. curvature: smallest eigenvalue of its
      Hessian over the largest (about 0, as rotated factors are one covariance; below 0 a saddle).
      start_log_likelihoods: where each start ended.
    - smallest_eigenvalue: of the random effects' covariance relative to sigma squared, predictors
      scaled to standard deviation 1; singular: its root is below 1e-4, as lme4's isSingular.
    - covariance: frame (q, q), of the random effects between groups; random_effects: frame
      (groups, q), conditional means by group, lme4's ranef.
    """

    formula: MixedFormula
    method: Method
    fixed_effects: pd.Series
    fixed_covariance: pd.DataFrame
    sigma: float
    log_likelihood: float
    n: int
    converged: bool
    newton_decrement: float
    gradient_norm: float
    curvature: float
    iterations: int
    start_log_likelihoods: tuple[float, ...]
    smallest_eigenvalue: float
    covariance: pd.DataFrame
    random_effects: pd.DataFrame

    @property
    def names(self) -> list[str]:
        """Names of the fixed effects."""
        return list(self.fixed_effects.index)

    @cached_property
    def standard_errors(self) -> pd.Series:
        """Standard errors of the fixed effects."""
        variances = np.diag(self.fixed_covariance.to_numpy())
        return pd.Series(np.sqrt(variances), index=self.fixed_effects.index)

    @property
    def singular(self) -> bool:
        """Whether some combination of the random effects has (nearly) no variance."""
        return bool(self.smallest_eigenvalue < SINGULAR**2)

    def predict(self, frame: pd.DataFrame, random: bool = True) -> Array:
        """Return the expected response (n,) of each row of a frame.

        With `random`, the group's own effects are added; a group that was not fitted has none.
        """
        fixed = _design(frame, self.formula.fixed)
        expected = fixed @ self.fixed_effects.to_numpy()
        if random:
            codes, levels = group_codes(frame, self.formula.group)
            effects = self.random_effects.reindex(levels).fillna(0.0).iloc[codes]
            expected += (_design(frame, self.formula.random) * effects.to_numpy()).sum(axis=1)
        return expected

    def held_out_log_likelihood(
        self,
        data: MixedModelData | pd.DataFrame,
        kind: Kind = "marginal",
        per: Per = "sum",
    ) -> float | pd.Series:
        """Return the log-likelihood (nats) of other data under this fit.

        `kind` marginal integrates the random effects out, conditional takes each group's own;
        `per` gives the sum, the mean of an observation, or a Series by group. Details and the
        scale that the data must have: held_out.held_out_log_likelihood.
        """
        _check(kind, per)
        if isinstance(data, pd.DataFrame):
            data = MixedModelData.from_frame(
                data,
                response=self.formula.response,
                predictors=self.formula.predictors,
                group=self.formula.group,
            )
        by_group = held_out_log_likelihood(
            data,
            self.formula,
            self.fixed_effects.to_numpy(),
            self.covariance.to_numpy(),
            self.sigma,
            self.random_effects if kind == "conditional" else None,
        )
        if per == "group":
            return by_group
        total = float(by_group.sum())
        return total / data.n if per == "observation" else total


def _check(kind: str, per: str) -> None:
    if kind not in get_args(Kind) or per not in get_args(Per):
        raise LingprobError(
            f"kind={kind!r}, per={per!r}: need one of {get_args(Kind)} and of {get_args(Per)}."
        )


def _design(frame: pd.DataFrame, names: tuple[str, ...]) -> Array:
    """Return the columns (n, c) of the named effects in a frame."""
    predictors = tuple(name for name in names if name != INTERCEPT)
    columns = dict(zip(predictors, evaluate_terms(frame, predictors), strict=True))
    for name, column in columns.items():
        check_finite(name, column)
    ones = np.ones(len(frame))
    return np.column_stack([columns.get(name, ones) for name in names]).astype(np.float64)
