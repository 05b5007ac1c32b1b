"""Overlaps of texts with corpora, models trained on them, reading times and their regressions."""

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
    # One row per passage of the overlap stage's index, in the index's order.
    "overlap_passages": pa.schema(
        required(TEXT, "corpus") + required(INT32, "article_num") + required(TEXT, "passage_id")
    ),
    # One row per longest overlap of a passage with a searched corpus, and per place of that length.
    # As published, `corpus` is the text, `article_num` its passage and `searched` the corpus.
    # Lengths are in tokens, `overlap_last_token` counts from 0 (-1 without overlap), and the n-gram
    # log-probability is log10. `below_threshold` depends on the convention (compat, corrected).
    "overlap": pa.schema(
        required(TEXT, "searched", "origin", "corpus")
        + required(INT32, "article_num")
        + optional(TEXT, "passage_id")
        + required(INT64, "article_len", "overlap_len", "overlap_last_token", "overlap_freq")
        + optional(FLOAT64, "5gram_logprob")
        + optional(TRUTH, "below_threshold", "below_threshold_compat", "below_threshold_corrected")
        + optional(TEXT, "overlap_text")
        + required(TEXT, "scale")
    ),
    # One row per passage and searched corpus (or file of it): the longest soft overlap, in folded
    # words, of which `gaps` are replaced, left out or put in. `first_word` and `last_word` count as
    # `word_index` does (null without an overlap). `overlap_text` is the corpus's wording.
    "soft_overlap": pa.schema(
        required(TEXT, "searched", "corpus", "passage_id")
        + required(INT32, "passage_words", "overlap_words", "gaps")
        + optional(INT32, "first_word", "last_word")
        + required(TEXT, "overlap_text", "scale")
    ),
    # One row per chunk of a searched corpus, with its longest overlap with any passage.
    "overlap_chunks": pa.schema(
        required(TEXT, "searched", "chunk")
        + required(INT64, "n_tokens", "overlap_tokens")
        + optional(TEXT, "corpus", "passage_id")
        + required(INT64, "last_token", "frequency")
        + required(TEXT, "overlap_text")
        + required(TRUTH, "leakage_free", "selected")
        + required(TEXT, "scale")
    ),
    # One row per trained model, number of fine-tuning steps and corpus of texts (or `all`).
    "perplexity": pa.schema(
        required(TEXT, "model", "size")
        + required(INT64, "parameters")
        + required(INT32, "fine_tuning_steps")
        + required(TEXT, "corpus")
        + required(INT64, "n_tokens")
        + required(FLOAT64, "perplexity")
        + required(TEXT, "scale")
    ),
    # One row per trained model and passage (from 0 in each corpus): the sum of its tokens'
    # log-probabilities.
    "passage_logprobs": pa.schema(
        required(TEXT, "model", "size")
        + required(INT64, "parameters")
        + required(INT32, "fine_tuning_steps")
        + required(TEXT, "corpus")
        + required(INT32, "passage")
        + required(INT64, "n_tokens")
        + required(FLOAT64, "logprob")
        + required(TEXT, "scale")
    ),
    # One row per word of a text that people read. Words joined by single spaces are the passage.
    "words": pa.schema(
        required(TEXT, "passage_id")
        + required(INT32, "word_index")
        + required(TEXT, "word")
        + optional(INT32, "sentence_index")
    ),
    # One row per reader and word, or per mean over readers (`subject_id` mean). `excluded` says why
    # a row is in no regression, `partition` (fit, exploratory, held_out) in which part it is.
    "reading_times": pa.schema(
        required(TEXT, "subject_id", "passage_id")
        + required(INT32, "word_index")
        + optional(FLOAT64, "rt_ms")
        + optional(TRUTH, "previous_fixated")
        + optional(TEXT, "condition", "excluded", "partition")
    ),
    # One row per word of a text: surprisal (bits) with and without the correction for trailing
    # spaces, null if nothing precedes the word. Imported surprisals have one value for both and no
    # `n_tokens`.
    "surprisal": pa.schema(
        required(TEXT, "passage_id")
        + required(INT32, "word_index")
        + optional(FLOAT64, "surprisal", "surprisal_uncorrected")
        + optional(INT32, "n_tokens")
    ),
    # One row per word form of a corpus.
    "word_counts": pa.schema(required(TEXT, "word") + required(INT64, "count")),
    # The gain from a model's surprisal in the regression of one data set: log-likelihoods (nats) of
    # the evaluated partition, coefficients in ms per standard deviation. `corrected` (for trailing
    # spaces) is null if it is not known.
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
    # One row per model, subject and item: their share in ΔLogLik (`of` delta, by
    # sentence, with the subject `mean` for means), or in log perplexity (by passage). It is the sum
    # over `n` reading times or words, in nats. `convention` is that of a published fit, or empty.
    "reading_gains": pa.schema(
        required(TEXT, "dataset", "convention", "model", "of", "subject", "item")
        + required(FLOAT64, "nats")
        + required(INT64, "n")
    ),
    # One row per fixed effect of a model's regression: ms per standard deviation of a predictor, or
    # the deviation of a condition from the mean over conditions, with the 95% interval.
    "reading_effects": pa.schema(
        required(TEXT, "dataset", "model", "term")
        + required(FLOAT64, *estimated("ms"), "std_error")
        + required(TRUTH, "converged", "singular")
        + required(TEXT, "scale")
    ),
    # One model's log-likelihood (nats) of the evaluated times minus another's, with its interval
    # over draws of `items` that both share, the p-value of a permutation test within items, and
    # the same corrected for all differences of the data set.
    "model_differences": pa.schema(
        required(TEXT, "dataset", "rt_source", "model", "other")
        + required(FLOAT64, *estimated("difference"), "p", "p_holm")
        + required(INT64, "n_evaluated")
        + required(TEXT, "resampled")
        + required(INT64, "items")
        + required(TEXT, "scale")
    ),
    # A slope over models of one family and state of fine-tuning, per tenfold of its predictor,
    # with intervals over draws of `items`. `change` is the effect of fine-tuning on the slope, and
    # `largest` the number of parameters of the largest model.
    "reading_trends": pa.schema(
        required(TEXT, "dataset", "rt_source", "context")
        + optional(TRUTH, "corrected")
        + required(TEXT, "convention", "family")
        + optional(INT64, "training_step")
        + required(INT64, "fine_tuning_steps")
        + required(TEXT, "of", "on")
        + required(INT64, "models")
        + optional(FLOAT64, "largest")
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
    # One row per model and convention of a published fit to the means of Natural Stories: `delta`
    # is our value, `published_delta` the published one.
    "published_delta": pa.schema(
        required(TEXT, "model", "convention", "description")
        + optional(FLOAT64, "published_delta", "published_perplexity")
        + required(FLOAT64, *estimated("delta"), "word_perplexity")
        + required(INT64, "n")
        + required(TEXT, "scale")
    ),
}
