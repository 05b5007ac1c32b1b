"""Sentences, their scores and unigrams, the audit of pairs, and the scorecard."""

import pyarrow as pa

from lingprob.io.schemas.columns import optional, required

SCHEMAS = {
    # One row per sentence. `dataset` is the whole data set's name even for a sample. `rating` is
    # the mean of the judgments (of z-scores if the data set has them). `rating_source` is human,
    # simulated or null.
    "stimuli": pa.schema(
        required("string", "dataset", "item_id")
        + optional("string", "pair_id", "condition")
        + required("string", "text")
        + optional("bool", "grammatical")
        + optional("float64", "rating")
        + optional("string", "rating_source", "phenomenon", "paradigm")
        + required("string", "language")
    ),
    # One row per judgment of one participant. `rating` is as given, `z` is standardised within the
    # participant (or as given, if the data set's entry has `standardise: false`).
    "ratings": pa.schema(
        required("string", "participant_id", "item_id") + required("float64", "rating", "z")
    ),
    # One row per token. `logprob` (nats) is null and `scored` false if nothing precedes the token.
    "scores": pa.schema(
        required("string", "item_id")
        + required("int32", "token_index", "token_id", "char_start", "char_end")
        + optional("float32", "logprob")
        + required("bool", "scored")
    ),
    # One row per sentence, BOS policy and unigram source. The sums are over scored tokens.
    "sentence_scores": pa.schema(
        required("string", "model", "dataset", "item_id", "bos", "unigrams")
        + required("float64", "logprob")
        + optional("float64", "unigram_logprob")
        + required("int32", "n_tokens", "n_words")
    ),
    # Additive statistics of a shard of a corpus or of generated text. Shards merge by sums.
    # `total` counts sequences for the unigrahams estimator, and tokens for a corpus.
    "unigram_sums": pa.schema(
        required("int32", "token_id") + required("float64", "sum", "sum_of_squares")
    ),
    # One row per vocabulary entry. `logprob` (nats) is smoothed as the metadata states.
    "unigrams": pa.schema(
        required("int32", "token_id")
        + optional("float64", "count", "std_error")
        + required("float64", "logprob")
    ),
    # One row per pair, the worst first. `problems`, and `flips` (the conventions that flip the
    # verdict), are names joined in one text. Log-probabilities are in nats, and differences are
    # grammatical minus ungrammatical. `mismatch` is in robust standard deviations. `leaked_*` is
    # the share of a sentence that is in `corpus`.
    "audit": pa.schema(
        required("string", "dataset", "pair_id")
        + optional("string", "phenomenon", "paradigm")
        + required("string", "good", "bad")
        + required("int32", "weight")
        + required("string", "problems")
        + required("bool", "preferred")
        + required("string", "flips")
        + required("int32", "levenshtein_characters", "levenshtein_words")
        + optional("float64", "cosine_distance", "mismatch")
        + required("int32", "n_tokens_good", "n_tokens_bad")
        + required("bool", "first_word_differs", "identical")
        + required("float64", "logprob_good", "logprob_difference")
        + optional("float64", "unigram_difference", "leaked_good", "leaked_bad")
        + optional("string", "corpus", "repeats", "both_ways")
        + required("string", "model", "scale")
    ),
    # One row per sentence and searched corpus: the longest overlap, lengths in tokens.
    "audit_leakage": pa.schema(
        required("string", "dataset", "item_id", "corpus")
        + required("int64", "overlap_tokens", "n_tokens", "occurrences")
    ),
    # One row per published number (`column` of `row`), or per claim (its id) about a population
    # (`row`), with this run's value and its 95% interval. `expected` is the claim about the value.
    # `role` states whether the row decides the verdict on the paper's sentence.
    "scorecard": pa.schema(
        required("string", "paper", "kind", "role", "item", "row", "column")
        + optional("string", "sentence", "expected")
        + optional("float64", "published", "ours", "low", "high", "difference")
        + required("string", "verdict", "scale", "note")
        + optional("string", "figure")
    ),
}
