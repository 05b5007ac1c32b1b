"""The functions that read and write the project's tables, which are Parquet files with a schema.

The tables have provenance (model, origin, dtype, conventions, version) as key-value metadata.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import lingprob
from lingprob.errors import LingprobError, looked_up, refuse_rows
from lingprob.io.files import atomic_path
from lingprob.io.schemas import SCHEMAS

# For tables that people read: the columns that identify a row, and the column with the row's text
# in the `stimuli` or `words` table.
TEXTS = {
    "sentence_scores": (["item_id"], "text"),
    "surprisal": (["passage_id", "word_index"], "word"),
}


def write_table(
    frame: pd.DataFrame, name: str, path: str | Path, metadata: Mapping[str, object] | None = None
) -> None:
    """Check `frame` against the schema `name`, and write it to a Parquet file atomically.

    Raises LingprobError for a missing or unknown column, for a value that the column's type would
    change, and for a null, NaN or infinity that is not allowed.
    """
    with table_writer(name, path, metadata) as write:
        write(frame)


def as_table(frame: pd.DataFrame, name: str, where: str) -> pd.DataFrame:
    """Return `frame` as if it had been written as a table `name` and read again.

    Raises LingprobError as `write_table`, with `where` as the name of the file.
    """
    return _as_frame(_checked(frame, name, where), name, where)


@contextmanager
def table_writer(
    name: str, path: str | Path, metadata: Mapping[str, object] | None = None
) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Yield a function that writes the next rows of a table, which `write_table` would check.

    The file appears if the body raises no error.
    """
    schema = looked_up("table", name, SCHEMAS)
    described = {"lingprob_version": lingprob.__version__, "table": name, **(metadata or {})}
    encoded = {str(key): str(value) for key, value in described.items()}
    options = {"compression": "zstd", "write_page_checksum": True}
    with (
        atomic_path(path) as temporary,
        pq.ParquetWriter(temporary, schema.with_metadata(encoded), **options) as file,
    ):
        yield lambda piece: file.write_table(_checked(piece, name, path))


def read_table(
    path: str | Path,
    name: str,
    columns: Sequence[str] | None = None,
    where: Mapping[str, Collection[str]] | None = None,
) -> pd.DataFrame:
    """Return the table in a Parquet file, with the types of the schema `name`.

    `columns` are the columns to read, by default all. `where` has the values of the rows to read,
    by column. Others take no memory.

    Raises LingprobError if the file is not Parquet, or if its columns are not those of the schema.
    """
    wanted = [(column, "in", list(values)) for column, values in (where or {}).items()]
    with _opened(path, name) as file:
        table = file.to_table(
            columns=columns, filter=pq.filters_to_expression(wanted) if wanted else None
        )
    return _as_frame(table, name, path)


def iterate_table(
    path: str | Path, name: str, rows: int, columns: Sequence[str] | None = None
) -> Iterator[pd.DataFrame]:
    """Yield a table in pieces of at most `rows` rows. Columns and errors are as in `read_table`."""
    with _opened(path, name) as file:
        for batch in filter(len, file.to_batches(columns=columns, batch_size=rows)):
            yield _as_frame(pa.Table.from_batches([batch]), name, path)


def read_tables(files: Mapping[str, str | Sequence[str]]) -> dict[str, pd.DataFrame]:
    """Return the tables among a rule's inputs by schema. Files of one schema are read as one table.

    Names without a file, and names of no schema, are left out. Errors are as in `read_table`.
    """
    tables = {}
    for name, given in files.items():
        if given and name in SCHEMAS:
            paths = [given] if isinstance(given, str) else given
            read = [read_table(path, name) for path in paths]
            tables[name] = pd.concat(read, ignore_index=True)
    return tables


def read_metadata(path: str | Path) -> dict[str, str]:
    """Return the provenance in a table's metadata as a mapping of texts."""
    try:
        raw = pq.read_schema(path).metadata or {}
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error
    return {key.decode(): value.decode() for key, value in raw.items() if key != b"ARROW:schema"}


def with_texts(frame: pd.DataFrame, name: str, texts: pd.DataFrame) -> pd.DataFrame:
    """Return a table of TEXTS with each row's text, which the `stimuli` or `words` table has."""
    keys, text = TEXTS[name]
    table = as_table(frame, name, name)
    joined = table.merge(texts[[*keys, text]], on=keys, how="left", validate="many_to_one")
    return joined[[*keys, text, *table.columns.drop(keys)]]


def guard_formulas(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with an apostrophe before each text that a spreadsheet would run as a formula.

    These are texts that begin with =, +, -, @, a tab or a carriage return, and are no numbers.
    """

    def guarded(value: object) -> object:
        runs = isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r"))
        return f"'{value}" if runs and pd.isna(pd.to_numeric(value, errors="coerce")) else value

    return frame.map(guarded).rename(columns=guarded)


def write_csv(frame: pd.DataFrame, path: str | Path) -> None:
    """Write a table as CSV, or with tabs if the path ends in .tsv, atomically."""
    with atomic_path(path) as temporary:
        frame.to_csv(temporary, index=False, sep="\t" if Path(path).suffix == ".tsv" else ",")


@contextmanager
def _opened(path: str | Path, name: str) -> Iterator[ds.Dataset]:
    """Yield the data set of a table's file. Raise LingprobError if it cannot be read."""
    schema = looked_up("table", name, SCHEMAS)
    checked = ds.ParquetFragmentScanOptions(page_checksum_verification=True)
    try:
        file = ds.dataset(path, format=ds.ParquetFileFormat(default_fragment_scan_options=checked))
        _check_columns(file.schema.names, schema, f"{path} (table {name})")
        yield file
    except FileNotFoundError as error:
        raise LingprobError(f"{path}: no such table. Which rule makes it? See rules/.") from error
    except (pa.ArrowException, OSError) as error:
        raise _damaged(path, error) from error


def _damaged(path: str | Path, error: Exception) -> LingprobError:
    return LingprobError(f"{path}: not a whole Parquet file ({error}). Delete it and run again.")


def _as_frame(table: pa.Table, name: str, path: str | Path) -> pd.DataFrame:
    """Return Arrow rows as a frame with the types and the order of columns of the schema `name`."""
    fields = [field for field in SCHEMAS[name] if field.name in table.column_names]
    try:
        columns = [_as_type(table.column(field.name), field.type) for field in fields]
    except pa.ArrowException as error:
        raise LingprobError(
            f"{path} (table {name}): its columns have other types ({error}). It was written by "
            "another version: delete it and run again."
        ) from error
    return pa.Table.from_arrays(columns, schema=pa.schema(fields)).to_pandas()


def _checked(frame: pd.DataFrame, name: str, path: str | Path) -> pa.Table:
    """Return a frame as an Arrow table of its schema, or raise LingprobError as `write_table`."""
    schema = looked_up("table", name, SCHEMAS)
    where = f"{path} (table {name})"
    _check_columns(list(frame.columns), schema, where)
    arrays = []
    for field in schema:
        try:
            array = _as_type(pa.Array.from_pandas(frame[field.name]), field.type)
        except pa.ArrowException as error:
            raise LingprobError(
                f"{where}, column {field.name!r}: not {field.type}: {error}"
            ) from error
        _check_values(array, field, where)
        arrays.append(array)
    return pa.Table.from_arrays(arrays, schema=schema)


def _check_columns(columns: list[str], schema: pa.Schema, where: str) -> None:
    missing = [column for column in schema.names if column not in columns]
    extra = [column for column in columns if column not in schema.names]
    if missing or extra:
        raise LingprobError(f"{where}: missing columns {missing}, unknown columns {extra}.")


def _as_type(values: pa.Array | pa.ChunkedArray, kind: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return values as another type. Raises pa.ArrowException if a value would change."""
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
    valid = pc.or_(array.is_valid(), field.nullable)
    if pa.types.is_floating(field.type):
        valid = pc.is_finite(array).fill_null(field.nullable)
    at_fault = ~valid.to_numpy(zero_copy_only=False)
    refuse_rows(
        at_fault,
        "{where}, column {name!r}, row {place}: the value is {value}, which is not allowed there "
        "(such rows: {count}).",
        where=where, name=field.name, value=array[int(at_fault.argmax())] if len(array) else None,
    )  # fmt: skip
