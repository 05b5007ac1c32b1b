"""What people read or judged: sentences, and their judgments."""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas.columns import FLOAT64, TEXT, TRUTH, optional, required

SCHEMAS = {
    # One sentence a row; a sample has the name of the whole `dataset`. `rating` is the mean of its
    # judgments (of z-scores where the data set has them), `rating_source` human, simulated or null.
    "stimuli": pa.schema(
        required(TEXT, "dataset", "item_id")
        + optional(TEXT, "pair_id", "condition")
        + required(TEXT, "text")
        + optional(TRUTH, "grammatical")
        + optional(FLOAT64, "rating")
        + optional(TEXT, "rating_source", "phenomenon", "paradigm")
        + required(TEXT, "language")
    ),
    # One judgment of one participant a row; `rating` is as given, `z` standardised within the
    # participant.
    "ratings": pa.schema(
        required(TEXT, "participant_id", "item_id") + required(FLOAT64, "rating", "z")
    ),
}
