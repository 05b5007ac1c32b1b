"""Short ways to declare several columns of one type."""

import pyarrow as pa


def required(kind: str | pa.DataType, *names: str) -> list[pa.Field]:
    """Return columns of a type (Arrow's name, such as `int32`) that may not contain null or NaN."""
    return [pa.field(name, kind, nullable=False) for name in names]


def optional(kind: str | pa.DataType, *names: str) -> list[pa.Field]:
    """Return columns of a type that may contain null or NaN."""
    return [pa.field(name, kind) for name in names]


def estimated(name: str) -> list[str]:
    """Return the names of the columns of an estimate and of the ends of its 95% interval."""
    return [name, f"{name}_low", f"{name}_high"]


def result(columns: list[pa.Field]) -> pa.Schema:
    """Return the schema of a result table, whose last column is the scale of the run."""
    return pa.schema(columns + required("string", "scale"))
