"""Longest overlaps of texts with corpora."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, INT32, INT64, TEXT, TRUTH, optional, required

SCHEMAS = {
    # One passage of the overlap stage's index a row, in the index's order.
    "overlap_passages": pa.schema(
        required(TEXT, "corpus") + required(INT32, "article_num") + required(TEXT, "passage_id")
    ),
    # As published, `corpus` is the text, `article_num` its passage and `searched` the corpus.
    # One longest overlap of a passage with a searched corpus a row, as many as there are places of
    # that length; lengths in tokens, `overlap_last_token` from 0 (-1 without overlap). The n-gram
    # log-probability is log10, as published; `below_threshold` by convention (compat, corrected).
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
    # A passage's longest soft overlap with a searched corpus (or a file of it) a row, in folded
    # words: `gaps` of them are replaced, left out or put in; its first and last word in the passage
    # by `word_index` (null without one); the corpus's wording. `corpus` is the text, as above.
    "soft_overlap": pa.schema(
        required(TEXT, "searched", "corpus", "passage_id")
        + required(INT32, "passage_words", "overlap_words", "gaps")
        + optional(INT32, "first_word", "last_word")
        + required(TEXT, "overlap_text", "scale")
    ),
    # One chunk of a searched corpus a row, with its longest overlap with any passage.
    "overlap_chunks": pa.schema(
        required(TEXT, "searched", "chunk")
        + required(INT64, "n_tokens", "overlap_tokens")
        + optional(TEXT, "corpus", "passage_id")
        + required(INT64, "last_token", "frequency")
        + required(TEXT, "overlap_text")
        + required(TRUTH, "leakage_free", "selected")
        + required(TEXT, "scale")
    ),
}
