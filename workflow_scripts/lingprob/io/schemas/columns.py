"""Short ways to declare some columns of one type."""

from __future__ import annotations

import pyarrow as pa

TEXT, TRUTH = pa.string(), pa.bool_()
INT32, INT64 = pa.int32(), pa.int64()
FLOAT32, FLOAT64 = pa.float32(), pa.float64()


def required(kind: pa.DataType, *names: str) -> list[pa.Field]:
    """Return columns without null or NaN."""
    return [pa.field(name, kind, nullable=False) for name in names]


def optional(kind: pa.DataType, *names: str) -> list[pa.Field]:
    """Return columns in which a value may be missing."""
    return [pa.field(name, kind) for name in names]


def estimated(name: str) -> list[str]:
    """Return the names of an estimate and of the ends of its 95% interval."""
    return [name, f"{name}_low", f"{name}_high"]
