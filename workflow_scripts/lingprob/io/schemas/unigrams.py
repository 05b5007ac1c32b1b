"""Unigram statistics of tokenizers' vocabularies."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, optional, required

SCHEMAS = {
    # Additive statistics of a shard of a corpus or of generated text; shards merge by sums.
    # `total` counts sequences for the unigrahams estimator, tokens for a corpus.
    "unigram_sums": pa.schema(
        required(INT32, "token_id") + required(FLOAT64, "sum", "sum_of_squares")
    ),
    # One vocabulary entry a row; `logprob` (nats) is smoothed as the metadata states.
    "unigrams": pa.schema(
        required(INT32, "token_id")
        + optional(FLOAT64, "count", "std_error")
        + required(FLOAT64, "logprob")
    ),
}
