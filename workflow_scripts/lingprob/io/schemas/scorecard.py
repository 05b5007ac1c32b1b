"""Our numbers beside the published ones."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, TEXT, optional, required

SCHEMAS = {
    # One published number (`column` of `row`) or one claim (its id) about a population (`row`) a
    # row, with our value and its 95% interval; `expected` is what the claim says of the value.
    "scorecard": pa.schema(
        required(TEXT, "paper", "kind", "item", "row", "column")
        + optional(TEXT, "sentence", "expected")
        + optional(FLOAT64, "published", "ours", "low", "high", "difference")
        + required(TEXT, "verdict", "scale", "note")
        + optional(TEXT, "figure")
    ),
}
