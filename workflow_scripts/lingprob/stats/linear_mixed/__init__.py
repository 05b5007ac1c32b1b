"""Linear mixed models: lme4's fits, a thousand times faster (crossed factors: twenty times).

    from lingprob.stats.linear_mixed.fit import fit_mixed_models
    from lingprob.stats.linear_mixed.moments import MixedModelData
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

    from lingprob.stats.linear_mixed.crossed_data import CrossedData
    formula = "rt_ms ~ surprisal + (1 + surprisal || subject_id) + (1 | story:sentence)"
    rows = CrossedData.from_formulas(fit_partition, [formula])
    (crossed,) = fit_mixed_models(rows, [formula])
    print(crossed.variances(), crossed.aic)

Every fit says whether it converged, how near its covariance is to a singular one, and what another
step would gain. (leakage, section 3.1, appendix B)
"""
