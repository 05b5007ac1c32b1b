"""The only functions that read and write the project's tables.

Tables are zstd-compressed and carry their provenance (what their rule knows of model, origin,
dtype, conventions and version) as key-value metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import lingprob
from lingprob.errors import LingprobError, looked_up, refuse_rows
from lingprob.files import atomic_path
from lingprob.schemas import SCHEMAS


def write_table(
    frame: pd.DataFrame, name: str, path: str | Path, metadata: Mapping[str, object] | None = None
) -> None:
    """Check `frame` against the schema `name` and write it to `path` atomically.

    Raises LingprobError that names the column and first row at fault if a column is missing or
    unknown, has values that its type cannot hold as they are (the caller rounds, not the file), or
    a null, NaN or infinity where none may be.
    """
    schema = looked_up("table", name, SCHEMAS)
    _check_columns(list(frame.columns), schema, f"{path} (table {name})")
    arrays = []
    for field in schema:
        try:
            array = _as_type(pa.Array.from_pandas(frame[field.name]), field.type)
        except pa.ArrowException as error:
            raise LingprobError(
                f"{path} (table {name}), column {field.name!r}: not {field.type}: {error}"
            ) from error
        _check_values(array, field, f"{path} (table {name})")
        arrays.append(array)
    described = {"lingprob_version": lingprob.__version__, "table": name, **(metadata or {})}
    encoded = {str(key): str(value) for key, value in described.items()}
    table = pa.Table.from_arrays(arrays, schema=schema.with_metadata(encoded))
    with atomic_path(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", write_page_checksum=True)


def read_table(path: str | Path, name: str) -> pd.DataFrame:
    """Read the Parquet file at `path`, which must have exactly the columns of schema `name`.

    Raises LingprobError if the file is not Parquet, not such a table, or one of other types.
    """
    schema = looked_up("table", name, SCHEMAS)
    try:
        table = pq.read_table(path, page_checksum_verification=True)
    except FileNotFoundError as error:
        raise LingprobError(f"{path}: no such table. Which rule makes it? See rules/.") from error
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    _check_columns(table.column_names, schema, f"{path} (table {name})")
    try:
        columns = [_as_type(table.column(field.name), field.type) for field in schema]
    except (pa.ArrowException, ValueError) as error:
        raise LingprobError(
            f"{path} (table {name}): its columns have other types ({error}). It was written by "
            "another version: delete it and run again."
        ) from error
    return pa.Table.from_arrays(columns, schema=schema.remove_metadata()).to_pandas()


def read_as_one(paths: Iterable[str | Path], name: str) -> pd.DataFrame:
    """Read the tables at `paths`, all of schema `name`, as one; errors as in `read_table`."""
    return pd.concat([read_table(path, name) for path in paths], ignore_index=True)


def read_metadata(path: str | Path) -> dict[str, str]:
    """Return the provenance of a table as text keys and values."""
    try:
        raw = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    return {key.decode(): value.decode() for key, value in raw.items() if key != b"ARROW:schema"}


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table for people's eyes and other programs, atomically; .tsv gives tabs."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, sep="\t" if Path(path).suffix == ".tsv" else ",")


def _damaged(path: str | Path, error: Exception) -> LingprobError:
    return LingprobError(f"{path}: not a whole Parquet file ({error}). Delete it and run again.")


def _check_columns(columns: list[str], schema: pa.Schema, where: str) -> None:
    missing = [column for column in schema.names if column not in columns]
    extra = [column for column in columns if column not in schema.names]
    if missing or extra:
        raise LingprobError(
            f"{where}: missing columns {missing}, unknown columns {extra}; expected {schema.names}."
        )


def _as_type(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return values as another type that holds each of them as it is.

    Raises pa.ArrowException if it cannot: Arrow itself would round, and read text as numbers.
    """
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    if values.type in (kind, pa.list_(pa.null())):
        return values.cast(kind)
    is_text = [pa.types.is_string(a) or pa.types.is_large_string(a) for a in (values.type, kind)]
    cast = values.cast(kind)
    if is_text[0] != is_text[1] or not cast.cast(values.type).equals(values):
        raise pa.ArrowInvalid(f"values of type {values.type} would change as {kind}")
    return cast


def _check_values(array: pa.Array, field: pa.Field, where: str) -> None:
    at_fault = np.zeros(len(array), dtype=bool)
    if not field.nullable:
        at_fault |= array.is_null().to_numpy(zero_copy_only=False)
    if pa.types.is_floating(field.type):
        values = array.to_numpy(zero_copy_only=False)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        at_fault |= valid & ~np.isfinite(values)
    refuse_rows(
        at_fault,
        "{where}, column {name!r}, row {place}: the value is {value}, which is not allowed there "
        "({count} such rows).",
        where=where, name=field.name, value=array[int(at_fault.argmax())] if len(array) else None,
    )  # fmt: skip
