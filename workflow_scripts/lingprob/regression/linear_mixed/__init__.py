"""Linear mixed models: lme4's fits, a thousand times faster (crossed factors: twenty times).

    from lingprob.regression.linear_mixed import MixedModelData, fit_mixed_models
    raw, held_out = (
        MixedModelData.from_frame(
            part, response="rt_ms", predictors=["length", "surprisal"], group="subject_id"
        )
        for part in (fit_partition, exploratory_partition)
    )
    data = raw.standardised()
    fit, baseline = fit_mixed_models(data, [
        "rt_ms ~ length + surprisal + (1 + surprisal | subject_id)",
        "rt_ms ~ length + (1 | subject_id)",
    ])
    print(fit.fixed_effects, fit.standard_errors, fit.converged, fit.singular)
    fit.held_out_log_likelihood(held_out.standardised(like=raw))

Random effects are correlated (`|`) or not (`||`); predictors are numeric. With several grouping
factors the rows are kept, and a fit has a covariance for each random term:

    from lingprob.regression.linear_mixed import CrossedData
    formula = "rt_ms ~ surprisal + (1 + surprisal || subject_id) + (1 | story:sentence)"
    rows = CrossedData.from_formulas(fit_partition, [formula])
    (crossed,) = fit_mixed_models(rows, [formula])
    print(crossed.variances(), crossed.aic)

Every fit says whether it converged, how near its covariance is to a singular one, and what another
step would gain. (leakage, section 3.1, appendix B)
"""

from __future__ import annotations

from lingprob.regression.linear_mixed.crossed_data import CrossedData
from lingprob.regression.linear_mixed.fit import fit_mixed_models
from lingprob.regression.linear_mixed.formula import MixedFormula, parse_formula
from lingprob.regression.linear_mixed.moments import MixedModelData
from lingprob.regression.linear_mixed.reduce import Reduction, reduce_random_effects
from lingprob.regression.linear_mixed.result import CrossedFit, MixedFit

__all__ = [
    "CrossedData",
    "CrossedFit",
    "MixedFit",
    "MixedFormula",
    "MixedModelData",
    "Reduction",
    "fit_mixed_models",
    "parse_formula",
    "reduce_random_effects",
]
