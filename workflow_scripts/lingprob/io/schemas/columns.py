"""How a table's columns are declared: some of one type, which must or need not have values."""

from __future__ import annotations

import pyarrow as pa

TEXT, TRUTH = pa.string(), pa.bool_()
INT32, INT64 = pa.int32(), pa.int64()
FLOAT32, FLOAT64 = pa.float32(), pa.float64()


def required(kind: pa.DataType, *names: str) -> list[pa.Field]:
    """Columns that may hold neither null nor NaN."""
    return [pa.field(name, kind, nullable=False) for name in names]


def optional(kind: pa.DataType, *names: str) -> list[pa.Field]:
    """Columns in which a value may be missing."""
    return [pa.field(name, kind) for name in names]


def estimated(name: str) -> list[str]:
    """Names of an estimate and the ends of its 95% interval."""
    return [name, f"{name}_low", f"{name}_high"]
