"""Distances within pairs, and predictions of string-probability metrics."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, TEXT, TRUTH, estimated, optional, required

SCHEMAS = {
    # One row per pair: Levenshtein distances in characters and in words, and 1 minus the cosine of
    # the sentences' embeddings.
    "minimalness": pa.schema(
        required(TEXT, "pair_id")
        + required(INT32, "levenshtein_characters", "levenshtein_words")
        + required(FLOAT64, "cosine_distance")
    ),
    # One row per sentence and model; metrics from `logprob` on, in nats or nats per token.
    # `meaning_matched`: the pair passes the filter of Prediction 2 (null if the set is not for it).
    # `weight`: sentences of the whole data set per sentence of the sample.
    "string_scores": pa.schema(
        required(TEXT, "model", "dataset", "item_id")
        + optional(TEXT, "pair_id", "phenomenon", "paradigm")
        + required(TRUTH, "grammatical")
        + required(INT32, "n_tokens")
        + optional(FLOAT64, "rating")
        + optional(TEXT, "rating_source")
        + optional(FLOAT64, "cosine_distance")
        + optional(TRUTH, "meaning_matched")
        + required(FLOAT64, "logprob")
        + optional(FLOAT64, "uniform_bayes_factor", "unigram_bayes_factor", "slor")
        + required(FLOAT64, "mean_logprob")
        + required(FLOAT64, "weight")
        + required(TEXT, "scale")
    ),
    # One row per correlation over a data set's pairs (`overall`) or over a `bin` of them; null if a
    # variable does not vary.
    "string_correlations": pa.schema(
        required(TEXT, "model", "dataset")
        + required(INT32, "prediction")
        + required(TEXT, "subset", "name")
        + required(INT32, "n")
        + optional(FLOAT64, *estimated("r"), "cosine_mean", "cosine_low", "cosine_high")
        + required(TRUTH, "simulated")
        + required(TEXT, "scale")
    ),
    # One row per metric and data set, phenomenon or all data sets (POOLED); null if undefined.
    # `gain`: accuracy minus area. `lead`, of SLOR and mean log p: area minus the highest area of
    # the paper's other metrics.
    "string_separation": pa.schema(
        required(TEXT, "model", "dataset", "phenomenon", "metric")
        + required(INT32, "n_grammatical", "n_ungrammatical", "n_pairs")
        + optional(FLOAT64, *estimated("auc"), *estimated("accuracy"))
        + optional(FLOAT64, *estimated("gain"), *estimated("lead"))
        + required(TEXT, "scale")
    ),
    # One row per quantity (spread, slope, residual_sd, r, r_common_spread, r_without_length) in a
    # bin, or per fitted change from the first to the last bin (subset `change`).
    "string_confounds": pa.schema(
        required(TEXT, "model", "dataset")
        + required(INT32, "prediction")
        + required(TEXT, "subset", "name", "quantity")
        + required(INT32, "n")
        + optional(FLOAT64, *estimated("value"))
        + required(TRUTH, "simulated")
        + required(TEXT, "scale")
    ),
    # One row per point of a ROC curve.
    "string_roc": pa.schema(
        required(TEXT, "model", "dataset", "metric")
        + required(FLOAT64, "false_positive_rate", "true_positive_rate")
        + required(TEXT, "scale")
    ),
}
