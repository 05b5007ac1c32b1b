"""Minimal pairs, and what is wrong with them."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, INT64, TEXT, TRUTH, optional, required

SCHEMAS = {
    # One pair a row, the worst first. `problems` and the conventions that flip the verdict are
    # names, joined; log-probabilities in nats, differences grammatical less ungrammatical;
    # `mismatch` in robust standard deviations; `leaked`: share of a sentence in `corpus`.
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
    # One sentence's longest overlap with a searched corpus a row, lengths in tokens.
    "audit_leakage": pa.schema(
        required(TEXT, "dataset", "item_id", "corpus")
        + required(INT64, "overlap_tokens", "n_tokens", "occurrences")
    ),
}
