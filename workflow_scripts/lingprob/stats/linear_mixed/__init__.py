"""Linear mixed models with one grouping factor: lme4's fits, a thousand times faster.

    from lingprob.stats.linear_mixed.fit import fit_mixed_models
    from lingprob.stats.linear_mixed.moments import MixedModelData
    data = MixedModelData.from_frame(
        fit_partition, response="rt_ms", predictors=["length", "surprisal"], group="subject_id"
    )
    fit, baseline = fit_mixed_models(data, [
        "rt_ms ~ length + surprisal + (1 + surprisal | subject_id)",
        "rt_ms ~ length + (1 | subject_id)",
    ])
    print(fit.fixed_effects, fit.standard_errors, fit.converged, fit.singular)
    print(fit.held_out_log_likelihoods(exploratory_partition, "sentence").sum())

Fits are by maximum likelihood, with correlated random effects (leakage, section 3.1, appendix B).
"""
