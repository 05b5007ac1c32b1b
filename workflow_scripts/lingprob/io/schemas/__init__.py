"""Every Parquet schema of the project, by table name: a module a stage
(minimalness: in string_probability), a comment a table.

Log-probabilities are natural logarithms (nats). Every table is in long format; result tables state
the scale in a column.
"""

from __future__ import annotations

import pyarrow as pa

from lingprob.io.schemas import (
    audit,
    context,
    morcela,
    overlap,
    reading,
    scorecard,
    scoring,
    stimuli,
    string_probability,
    training,
    unigrams,
)

STAGES = (
    stimuli,
    scoring,
    unigrams,
    morcela,
    overlap,
    string_probability,
    training,
    reading,
    context,
    scorecard,
    audit,
)
SCHEMAS: dict[str, pa.Schema] = {
    name: schema for stage in STAGES for name, schema in stage.SCHEMAS.items()
}
