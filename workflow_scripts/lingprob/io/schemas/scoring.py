"""Sentences, their scores and unigrams, the audit of pairs, and the scorecard."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import (
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    TEXT,
    TRUTH,
    optional,
    required,
)

SCHEMAS = {
    # One row per sentence. A sample has the name of the whole `dataset`. `rating` is the mean of
    # the judgments (of z-scores if the data set has them). `rating_source` is human, simulated or
    # null.
    "stimuli": pa.schema(
        required(TEXT, "dataset", "item_id")
        + optional(TEXT, "pair_id", "condition")
        + required(TEXT, "text")
        + optional(TRUTH, "grammatical")
        + optional(FLOAT64, "rating")
        + optional(TEXT, "rating_source", "phenomenon", "paradigm")
        + required(TEXT, "language")
    ),
    # One row per judgment of one participant. `rating` is as given, `z` is standardised within the
    # participant.
    "ratings": pa.schema(
        required(TEXT, "participant_id", "item_id") + required(FLOAT64, "rating", "z")
    ),
    # One row per token. `logprob` (nats) is null and `scored` false if nothing precedes the token.
    "scores": pa.schema(
        required(TEXT, "item_id")
        + required(INT32, "token_index", "token_id", "char_start", "char_end")
        + optional(FLOAT32, "logprob")
        + required(TRUTH, "scored")
    ),
    # One row per sentence, BOS policy and unigram source. The sums are over scored tokens.
    "sentence_scores": pa.schema(
        required(TEXT, "model", "dataset", "item_id", "bos", "unigrams")
        + required(FLOAT64, "logprob")
        + optional(FLOAT64, "unigram_logprob")
        + required(INT32, "n_tokens", "n_words")
    ),
    # Additive statistics of a shard of a corpus or of generated text. Shards merge by sums.
    # `total` counts sequences for the unigrahams estimator, and tokens for a corpus.
    "unigram_sums": pa.schema(
        required(INT32, "token_id") + required(FLOAT64, "sum", "sum_of_squares")
    ),
    # One row per vocabulary entry. `logprob` (nats) is smoothed as the metadata states.
    "unigrams": pa.schema(
        required(INT32, "token_id")
        + optional(FLOAT64, "count", "std_error")
        + required(FLOAT64, "logprob")
    ),
    # One row per pair, the worst first. `problems`, and `flips` (the conventions that flip the
    # verdict), are names joined in one text. Log-probabilities are in nats, and differences are
    # grammatical minus ungrammatical. `mismatch` is in robust standard deviations. `leaked_*` is
    # the share of a sentence that is in `corpus`.
    "audit": pa.schema(
        required(TEXT, "dataset", "pair_id")
        + optional(TEXT, "phenomenon", "paradigm")
        + required(TEXT, "good", "bad")
        + required(INT32, "weight")
        + required(TEXT, "problems")
        + required(TRUTH, "preferred")
        + required(TEXT, "flips")
        + required(INT32, "levenshtein_characters", "levenshtein_words")
        + optional(FLOAT64, "cosine_distance", "mismatch")
        + required(INT32, "n_tokens_good", "n_tokens_bad")
        + required(TRUTH, "first_word_differs", "identical")
        + required(FLOAT64, "logprob_good", "logprob_difference")
        + optional(FLOAT64, "unigram_difference", "leaked_good", "leaked_bad")
        + optional(TEXT, "corpus", "repeats", "both_ways")
        + required(TEXT, "model", "scale")
    ),
    # One row per sentence and searched corpus: the longest overlap, lengths in tokens.
    "audit_leakage": pa.schema(
        required(TEXT, "dataset", "item_id", "corpus")
        + required(INT64, "overlap_tokens", "n_tokens", "occurrences")
    ),
    # One row per published number (`column` of `row`), or per claim (its id) about a population
    # (`row`), with our value and its 95% interval. `expected` is the claim about the value, and
    # `role` says if the row decides the verdict on the sentence.
    "scorecard": pa.schema(
        required(TEXT, "paper", "kind", "role", "item", "row", "column")
        + optional(TEXT, "sentence", "expected")
        + optional(FLOAT64, "published", "ours", "low", "high", "difference")
        + required(TEXT, "verdict", "scale", "note")
        + optional(TEXT, "figure")
    ),
}
