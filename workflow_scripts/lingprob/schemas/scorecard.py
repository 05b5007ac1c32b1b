"""Our numbers beside the published ones."""

from __future__ import annotations

import pyarrow as pa

from lingprob.schemas.columns import FLOAT64, TEXT, optional, required

SCHEMAS = {
    # One published number or claim a row.
    "scorecard": pa.schema(
        required(TEXT, "paper", "item", "row", "column")
        + optional(FLOAT64, "published", "ours", "difference", "tolerance")
        + required(TEXT, "verdict", "scale", "note")
    ),
}
