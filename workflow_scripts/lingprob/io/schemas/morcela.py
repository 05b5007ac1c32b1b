"""Linking functions, agreement between participants and frequency slopes."""

import pyarrow as pa

from lingprob.io.schemas.columns import estimated, optional, required, result

SCHEMAS = {
    # One row per model, convention and linking function.
    "linking_functions": result(
        required(
            "string", "model", "dataset", "rating_source", "unigrams", "bos", "linking_function"
        )
        + required("bool", "default_convention")
        # The unit that intervals resample, and the unit that no fold of the cross-validation
        # splits.
        + required("string", "cluster", "kept_together")
        + required("float64", *estimated("r_cv"), "r_cv_shuffle_sd", *estimated("r"))
        + required("float64", *estimated("logprob_slope"))
        + optional("float64", *estimated("beta"), *estimated("gamma"))
        + required("float64", "sse", "aic", "bic")
        + required("int32", "predictors", "n")
        # r_cv minus that of SLOR, and that of MORCELA minus r_cv, on the same resamples.
        + optional("float64", *estimated("over_slor"), *estimated("below_morcela"))
    ),
    # One row per model, linking function (under the default convention) and resample: the refit.
    # Resamples of a data set are the same for all models whose scores have its sentences.
    "linking_draws": result(
        required("string", "model", "dataset", "rating_source", "cluster", "linking_function")
        + required("int32", "draw", "n")
        + optional("float64", "r_cv", "beta", "gamma")
    ),
    # One row per sentence, linking function and rated data set that it is fitted to: the
    # prediction, the interval of the mean rating of such sentences, and that of one sentence's
    # rating. Rated sentences also have a residual and, in the fitted data set, the prediction
    # without them.
    "predicted_ratings": pa.schema(
        required("string", "model", "dataset", "item_id", "text", "linking_function")
        + required("float64", *estimated("predicted"), "rating_low", "rating_high")
        + optional("float64", "rating", "residual", "held_out")
        + required("string", "fitted_to", "rating_source", "bos", "unigrams", "scale")
    ),
    # One row per definition of the agreement between two groups of participants.
    "intergroup_correlation": result(
        required("string", "dataset", "rating_source", "definition", "description")
        + required("float64", *estimated("r"))
        + required("int32", "draws", "judgments", "participants")
    ),
    # One row per bin of a shard's tokens: sums of unigram log-probability x and log-probability y.
    "frequency_moments": pa.schema(
        required("string", "start_token")
        + required("float64", "bin_low", "bin_high")
        + required("int64", "n_tokens")
        + required("float64", "x", "y", "xx", "xy", "yy")
    ),
    # One row per document of a shard's tokens: the same sums, for standard errors by document.
    "frequency_documents": pa.schema(
        required("string", "start_token")
        + required("int64", "document", "n_tokens")
        + required("float64", "x", "y", "xx", "xy", "yy")
    ),
    # One row per model: the regression of token log-probability on unigram log-probability. The
    # first standard error takes documents as independent, the second takes tokens.
    "frequency_slopes": result(
        required("string", "model", "corpus", "unigrams", "start_token")
        + required("float64", "slope", "slope_std_error_tokens", "intercept", "r")
        + optional("float64", "slope_std_error")
        + required("int64", "n_tokens", "n_documents")
    ),
    # One row per bin of unigram log-probability of the same tokens.
    "frequency_bins": pa.schema(
        required("string", "model", "corpus", "start_token")
        + required("float64", "bin_low", "bin_high")
        + required("int64", "n_tokens")
        + required("float64", "mean_unigram_logprob", "mean_logprob", "sd_logprob")
    ),
}
