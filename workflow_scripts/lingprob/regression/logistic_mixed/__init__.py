"""Mixed logistic regression by the Laplace approximation, as lme4's glmer fits it."""

from __future__ import annotations

from lingprob.regression.logistic_mixed.fit import (
    MixedLogisticFit,
    aggregate,
    all_interactions,
    fit_mixed_logistic,
)

__all__ = ["MixedLogisticFit", "aggregate", "all_interactions", "fit_mixed_logistic"]
