"""Trained models on the texts."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, INT64, TEXT, required

SCHEMAS = {
    # One trained model after some fine-tuning steps and one corpus's texts (or `all`) a row.
    "perplexity": pa.schema(
        required(TEXT, "model", "size")
        + required(INT64, "parameters")
        + required(INT32, "fine_tuning_steps")
        + required(TEXT, "corpus")
        + required(INT64, "n_tokens")
        + required(FLOAT64, "perplexity")
        + required(TEXT, "scale")
    ),
    # One trained model and one passage (from 0, by corpus) a row: the sum of its tokens' natural
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
}
