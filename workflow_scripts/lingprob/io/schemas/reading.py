"""Words that people read, their reading times and surprisals, and the regressions of them."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import (
    FLOAT64,
    INT32,
    INT64,
    TEXT,
    TRUTH,
    estimated,
    optional,
    required,
)

SCHEMAS = {
    # One word of a reading-time corpus's text a row; words joined by single blanks are the passage.
    "words": pa.schema(
        required(TEXT, "passage_id")
        + required(INT32, "word_index")
        + required(TEXT, "word")
        + optional(INT32, "sentence_index")
    ),
    # One reader's time on one word a row, or a mean over readers (`subject_id` mean). `excluded`
    # says why a row is in no regression, `partition` (fit, exploratory, held_out) in which it is.
    "reading_times": pa.schema(
        required(TEXT, "subject_id", "passage_id")
        + required(INT32, "word_index")
        + optional(FLOAT64, "rt_ms")
        + optional(TRUTH, "previous_fixated")
        + optional(TEXT, "excluded", "partition")
    ),
    # One word of a text a row: surprisal (bits) with the correction for trailing blanks and
    # without; null where nothing precedes it. Imported ones have one value for both, no n_tokens.
    "surprisal": pa.schema(
        required(TEXT, "passage_id")
        + required(INT32, "word_index")
        + optional(FLOAT64, "surprisal", "surprisal_uncorrected")
        + optional(INT32, "n_tokens")
    ),
    # One word form of a corpus a row.
    "word_counts": pa.schema(required(TEXT, "word") + required(INT64, "count")),
    # What a model's surprisal adds to the regression of one data set: log-likelihoods (nats) of the
    # evaluated partition; coefficients in ms per standard deviation. `corrected`, for trailing
    # blanks, is null where nobody knows.
    "delta_log_likelihood": pa.schema(
        required(TEXT, "model", "dataset", "texts", "measure", "rt_source", "regression")
        + required(TEXT, "context", "baseline_formula", "formula", "partition")
        + optional(TRUTH, "corrected")
        + required(INT64, "n_fit", "n_evaluated", "n_subjects")
        + required(FLOAT64, "log_likelihood_baseline", "log_likelihood", *estimated("delta"))
        + required(FLOAT64, "surprisal_ms", "surprisal_std_error")
        + required(FLOAT64, "previous_ms", "previous_std_error", "word_perplexity")
        + optional(FLOAT64, "token_perplexity")
        + required(TRUTH, "converged", "singular")
        + required(TEXT, "scale")
    ),
    # What an item adds to a model's ΔLogLik (a subject, or a sentence of means), or to its log
    # perplexity (a passage): the sum over `n` reading times or words, in nats.
    "reading_gains": pa.schema(
        required(TEXT, "dataset", "model", "of", "item_kind", "item")
        + required(FLOAT64, "nats")
        + required(INT64, "n")
    ),
    # One model's log-likelihood (nats) of the evaluated times less another's, with its interval
    # over draws of `items` that both share, the p-value of a permutation test within items, and
    # the same corrected for all differences of the data set.
    "model_differences": pa.schema(
        required(TEXT, "dataset", "rt_source", "model", "other")
        + required(FLOAT64, *estimated("difference"), "p", "p_holm")
        + required(INT64, "n_evaluated")
        + required(TEXT, "item_kind")
        + required(INT64, "items")
        + required(TEXT, "scale")
    ),
    # A slope over models of one family and state of (fine-)tuning, per tenfold of what it is on,
    # with intervals over draws of `items`; `change` is what fine-tuning adds to the slope.
    "reading_trends": pa.schema(
        required(TEXT, "dataset", "rt_source", "context")
        + optional(TRUTH, "corrected")
        + required(TEXT, "convention", "family")
        + optional(INT64, "training_step")
        + required(INT64, "fine_tuning_steps")
        + required(TEXT, "of", "on")
        + required(INT64, "models")
        + required(FLOAT64, "slope")
        + optional(FLOAT64, "slope_low", "slope_high", "change", "change_low", "change_high")
        + optional(TEXT, "resampled")
        + optional(INT64, "items")
        + optional(FLOAT64, "std_error", "r", "p")
        + required(TEXT, "scale")
    ),
    # How many reading times of a data set are excluded for each reason, or in each partition.
    "reading_counts": pa.schema(
        required(TEXT, "dataset", "rt_source", "fate")
        + required(INT64, "rows")
        + required(TEXT, "scale")
    ),
    # One model's published fit to the means of Natural Stories under one convention a row: `delta`
    # is ours, `published_delta` theirs.
    "published_delta": pa.schema(
        required(TEXT, "model", "convention", "description")
        + optional(FLOAT64, "published_delta", "published_perplexity")
        + required(FLOAT64, *estimated("delta"), "word_perplexity")
        + required(INT64, "n")
        + required(TEXT, "scale")
    ),
}
