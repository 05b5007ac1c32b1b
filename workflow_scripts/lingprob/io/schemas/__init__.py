"""The Arrow schemas of the project's tables by name, with a comment on each table.

Log-probabilities are natural logarithms (nats). Every table is in long format, and result tables
state the scale of the run in a column.
"""

import pyarrow as pa

from lingprob.io.schemas import context, leakage, morcela, scoring, string_probability

STAGES = (scoring, morcela, string_probability, leakage, context)
SCHEMAS: dict[str, pa.Schema] = {
    name: schema for stage in STAGES for name, schema in stage.SCHEMAS.items()
}
