"""Distances within pairs, and predictions of string-probability metrics."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, TEXT, TRUTH, estimated, optional, required

SCHEMAS = {
    # One row per pair: Levenshtein distances in characters and in words, and one minus the cosine
    # of the sentences' embeddings.
    "minimalness": pa.schema(
        required(TEXT, "pair_id")
        + required(INT32, "levenshtein_characters", "levenshtein_words")
        + required(FLOAT64, "cosine_distance")
    ),
    # One row per model and sentence, with the metrics from `logprob` on (nats, or nats per token).
    # `weight` is the number of sentences of the data set that it stands for in a sample.
    "string_scores": pa.schema(
        required(TEXT, "model", "dataset", "item_id")
        + optional(TEXT, "pair_id", "phenomenon", "paradigm")
        + required(TRUTH, "grammatical")
        + required(INT32, "n_tokens")
        + optional(FLOAT64, "rating")
        + optional(TEXT, "rating_source")
        + optional(FLOAT64, "cosine_distance")
        + required(FLOAT64, "logprob")
        + optional(FLOAT64, "uniform_bayes_factor", "unigram_bayes_factor", "slor")
        + required(FLOAT64, "mean_logprob")
        + required(FLOAT64, "weight")
        + required(TEXT, "scale")
    ),
    # One row per correlation over a data set's pairs, or over a bin or paradigm (`name`) of them.
    # It is null if a variable does not vary.
    "string_correlations": pa.schema(
        required(TEXT, "model", "dataset")
        + required(INT32, "prediction")
        + required(TEXT, "subset", "name")
        + required(INT32, "n")
        + optional(FLOAT64, *estimated("r"), "cosine_mean", "cosine_low", "cosine_high")
        + required(TRUTH, "simulated")
        + required(TEXT, "scale")
    ),
    # One row per metric on a data set, on a phenomenon of it, or on all data sets (POOLED). It is
    # null if the metric is not defined. `lead` (of SLOR and mean log p) is the area minus the
    # highest of the paper's other metrics.
    "string_separation": pa.schema(
        required(TEXT, "model", "dataset", "phenomenon", "metric")
        + required(INT32, "n_grammatical", "n_ungrammatical", "n_pairs")
        + optional(FLOAT64, *estimated("auc"), *estimated("accuracy"), *estimated("lead"))
        + required(TEXT, "scale")
    ),
    # One row per BOS policy and data set of pairs: accuracy of log p on its pairs and on those
    # whose first word differs, and the area under the ROC curve. The other tables use the policy
    # that is `used`.
    "string_conventions": pa.schema(
        required(TEXT, "model", "dataset", "bos")
        + required(TRUTH, "used")
        + required(INT32, "n_pairs", "n_first_differs")
        + optional(FLOAT64, *estimated("accuracy"), *estimated("first_differs"), *estimated("auc"))
        + required(TEXT, "scale")
    ),
    # One row per bin and quantity (spread, slope, residual_sd, r, r_common_spread,
    # r_without_length) or fitted change of the quantity from the first bin to the last (subset
    # `change`).
    "string_confounds": pa.schema(
        required(TEXT, "model", "dataset")
        + required(INT32, "prediction")
        + required(TEXT, "subset", "name", "quantity")
        + required(INT32, "n")
        + optional(FLOAT64, *estimated("value"))
        + required(TRUTH, "simulated")
        + required(TEXT, "scale")
    ),
    # One row per pool within which sentences of pairs, or of those of a paradigm or length
    # (`subset`, `name`), are compared, or the gain from pairing (pool `gain`). Gap and spread of
    # log p are in nats, and the area is `predicted` from them.
    "string_pools": pa.schema(
        required(TEXT, "model", "dataset", "subset", "name", "pool")
        + required(INT32, "n_pairs")
        + optional(FLOAT64, *estimated("auc"), "gap", "spread", "predicted")
        + required(TEXT, "scale")
    ),
    # One row per point of a ROC curve.
    "string_roc": pa.schema(
        required(TEXT, "model", "dataset", "metric")
        + required(FLOAT64, "false_positive_rate", "true_positive_rate")
        + required(TEXT, "scale")
    ),
}
