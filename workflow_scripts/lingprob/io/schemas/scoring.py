"""Log-probabilities of tokens and of sentences."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT32, FLOAT64, INT32, TEXT, TRUTH, optional, required

SCHEMAS = {
    # One token a row; `logprob` (nats) is null and `scored` false where nothing precedes it.
    "scores": pa.schema(
        required(TEXT, "item_id")
        + required(INT32, "token_index", "token_id", "char_start", "char_end")
        + optional(FLOAT32, "logprob")
        + required(TRUTH, "scored")
    ),
    # One sentence under one BOS policy and one unigram source a row; sums over scored tokens.
    "sentence_scores": pa.schema(
        required(TEXT, "model", "dataset", "item_id", "bos", "unigrams")
        + required(FLOAT64, "logprob")
        + optional(FLOAT64, "unigram_logprob")
        + required(INT32, "n_tokens", "n_words")
    ),
}
