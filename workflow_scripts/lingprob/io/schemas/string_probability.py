"""Distances within pairs, and predictions of string-probability metrics."""

import pyarrow as pa

from lingprob.io.schemas.columns import estimated, optional, required, result

SCHEMAS = {
    # One row per pair: Levenshtein distances in characters and in words, and 1 minus the cosine of
    # the sentences' embeddings.
    "minimalness": pa.schema(
        required("string", "pair_id")
        + required("int32", "levenshtein_characters", "levenshtein_words")
        + required("float64", "cosine_distance")
    ),
    # One row per sentence and model; metrics from `logprob` on, in nats or nats per token.
    # `meaning_matched`: the pair passes the filter of Prediction 2 (null if the filter does not
    # apply to the data set). `weight`: sentences of the whole data set per sentence of the sample.
    "string_scores": result(
        required("string", "model", "dataset", "item_id")
        + optional("string", "pair_id", "phenomenon", "paradigm")
        + required("bool", "grammatical")
        + required("int32", "n_tokens")
        + optional("float64", "rating")
        + optional("string", "rating_source")
        + optional("float64", "cosine_distance")
        + optional("bool", "meaning_matched")
        + required("float64", "logprob")
        + optional("float64", "uniform_bayes_factor", "unigram_bayes_factor", "slor")
        + required("float64", "mean_logprob")
        + required("float64", "weight")
    ),
    # One row per correlation over a data set's pairs (`overall`) or over a `bin` of them; null if a
    # variable does not vary.
    "string_correlations": result(
        required("string", "model", "dataset")
        + required("int32", "prediction")
        + required("string", "subset", "name")
        + required("int32", "n")
        + optional("float64", *estimated("r"), "cosine_mean", "cosine_low", "cosine_high")
        + required("bool", "simulated")
    ),
    # One row per metric and data set, phenomenon or all data sets (POOLED); null if undefined.
    # `gain`: accuracy minus area. `lead`, of SLOR and mean log p: area minus the highest area of
    # the paper's other metrics.
    "string_separation": result(
        required("string", "model", "dataset", "phenomenon", "metric")
        + required("int32", "n_grammatical", "n_ungrammatical", "n_pairs")
        + optional("float64", *estimated("auc"), *estimated("accuracy"))
        + optional("float64", *estimated("gain"), *estimated("lead"))
    ),
    # One row per quantity (spread, slope, residual_sd, r, r_common_spread, r_without_length) in a
    # bin, or per fitted change from the first to the last bin (subset `change`).
    "string_confounds": result(
        required("string", "model", "dataset")
        + required("int32", "prediction")
        + required("string", "subset", "name", "quantity")
        + required("int32", "n")
        + optional("float64", *estimated("value"))
        + required("bool", "simulated")
    ),
    # One row per point of a ROC curve.
    "string_roc": result(
        required("string", "model", "dataset", "metric")
        + required("float64", "false_positive_rate", "true_positive_rate")
    ),
}
