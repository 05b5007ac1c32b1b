"""A user's own tables: files of five formats, read as columns of text and numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api import types

from lingprob.errors import LingprobError, no_such_file, refuse_rows
from lingprob.io.text_tables import decoded, read_rows
from lingprob.io.text_units import split_lines

SEPARATORS = {".csv": ",", ".tsv": "\t"}
FORMATS = (*SEPARATORS, ".parquet", ".xlsx", ".jsonl")
NO_NUMBER = {"", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"}
EXACT = 2**53  # whole numbers up to here are exact as floats
LARGEST = 2**31 - 1  # whole number in the project's tables
ENCODING = "is not text in UTF-8. Save it in UTF-8 (in a spreadsheet: `CSV UTF-8`)."


def read_frame(path: Path) -> pd.DataFrame:
    """Return the table in a file of one of `FORMATS`: CSV, TSV, Parquet, Excel or JSON lines.

    All columns of CSV, TSV and Excel files are text, '' if empty. Raises LingprobError with the
    remedy if the file is absent, damaged, without rows, or of another format or encoding, if two
    columns have the same name, or if a row has too many fields.
    """
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise LingprobError(f"{path}: a table is {', '.join(FORMATS)}. Convert it to one of these.")
    try:
        if suffix == ".parquet":
            with pq.ParquetFile(path) as file:
                frame = file.read().to_pandas(ignore_metadata=True)
        elif suffix == ".jsonl":
            frame = _read_json_lines(path)
        else:
            names, rows = _read_text_rows(path, suffix)
            frame = pd.DataFrame(rows, columns=names, dtype=str)
    except FileNotFoundError as error:
        raise no_such_file(path) from error
    except UnicodeError as error:
        raise LingprobError(f"{path} {ENCODING} ({error})") from error
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LingprobError(
            f"{path}: cannot be read as a table ({' '.join(str(error).split())}). Write the file "
            "again."
        ) from error
    named = [name for name in frame.columns if name]
    if twice := [name for name in dict.fromkeys(named) if named.count(name) > 1]:
        raise LingprobError(f"{path}: two columns are named {twice[0]!r}. Rename or delete one.")
    if frame.empty:
        raise LingprobError(f"{path}: no rows. It must have a header line and rows below it.")
    return frame


def _read_text_rows(path: Path, suffix: str) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns and the rows of a CSV, TSV or Excel file, as text."""
    if suffix in SEPARATORS:
        return read_rows(path, SEPARATORS[suffix])
    from lingprob.io.workbooks import rows_of_only_sheet

    names, *rows = rows_of_only_sheet(path) or [[]]
    if len(names) > 1 and sum(map(bool, names)) == 1:
        raise LingprobError(
            f"{path}: its first row is {max(names)!r} alone. The first row must name the columns. "
            "Delete a title above them."
        )
    return names, rows


def _read_json_lines(path: Path) -> pd.DataFrame:
    rows = []
    for number, line in enumerate(split_lines(decoded(path)), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as error:
            raise LingprobError(
                f"{path}, line {number}: not JSON ({error}). Each line is a row, an object."
            ) from error
        if not isinstance(row, dict):
            raise LingprobError(
                f"{path}, line {number}: {type(row).__name__} and no object. Each line is a row, "
                'such as {"sentence": "The cat sleeps."}.'
            )
        rows.append(row)
    return pd.DataFrame(rows)


def need_columns(path: str | Path, frame: pd.DataFrame, needed: Iterable[str], remedy: str) -> None:
    """Raise LingprobError, followed by the remedy, if the frame of a file lacks needed columns."""
    if missing := [column for column in needed if column not in frame.columns]:
        raise LingprobError(
            f"{path}: no columns {missing}. It has {list(frame.columns)[:12]}. {remedy}"
        )


def numeric(path: str | Path, column: str, values: pd.Series, nullable: bool = False) -> pd.Series:
    """Return a column of a file as float64.

    Missing values of a `nullable` column are NaN, but not all of them may be missing. Raises
    LingprobError that names the first row without a finite number.
    """
    if types.is_numeric_dtype(values.dtype):
        numbers, missing = values.astype("Float64").astype("float64"), values.isna()
    else:
        plain = values.astype(object)
        missing = plain.isna() | plain.map(lambda value: str(value).strip() in NO_NUMBER)
        kept = plain.map(lambda value: value if isinstance(value, str | Real | Decimal) else None)
        numbers = pd.to_numeric(kept.where(~missing), errors="coerce").astype("float64")
    if not nullable:
        refuse(path, column, missing, "no value (missing or NaN)")
    elif missing.all():
        raise LingprobError(f"{path}, column {column!r}: all of it is empty. Fill it or delete it.")
    refuse(path, column, numbers.isna() & ~missing, "not a number", values)
    refuse(path, column, numbers.abs() == float("inf"), "infinite")
    return numbers


def whole(path: str | Path, column: str, values: pd.Series, smallest: int = 0) -> pd.Series:
    """Return a column of a file as int64.

    Raises LingprobError that names the first row without a whole number of at least `smallest`.
    """
    numbers = numeric(path, column, values)
    refuse(path, column, numbers % 1 != 0, "no whole number", values)
    refuse(path, column, numbers < smallest, f"below {smallest}", values)
    refuse(path, column, numbers > LARGEST, f"above {LARGEST}", values)
    return numbers.astype("int64")


def text_of(path: str | Path, column: str, values: pd.Series) -> pd.Series:
    """Return a column of a file as strings, with NA for an empty one. Whole numbers become text.

    Raises LingprobError that names the first row with another value.
    """
    if types.is_float_dtype(values.dtype) and (values.dropna() % 1 == 0).all():
        values = values.where(values.abs() < EXACT).astype("Int64")  # a gap has made 1 into 1.0
    if not (types.is_numeric_dtype(values.dtype) or isinstance(values.dtype, pd.StringDtype)):
        values = values.astype(object)
        odd = values.map(lambda value: not isinstance(value, str | bool | int)) & values.notna()
        refuse(path, column, odd, "not text", values)
    return values.astype("string").replace("", pd.NA)


def as_boolean(
    path: str | Path,
    column: str,
    values: pd.Series,
    meaning: Mapping[object, bool] | None = None,
) -> pd.Series:
    """Return a column of a file as booleans, missing if empty.

    The values are true/false, 1/0 or yes/no in any case, or the keys of `meaning`.
    """
    known: dict[str, bool] = {
        "true": True, "1": True, "yes": True, "false": False, "0": False, "no": False,
    }  # fmt: skip
    if meaning:
        known = {str(value).lower(): truth for value, truth in meaning.items()}
    values = text_of(path, column, values)
    mapped = values.str.lower().map(known)
    refuse(
        path, column, mapped.isna() & values.notna(), "neither true nor false", values,
        f"Correct the row, or state the meaning of two values (datasets.NAME.{column}).",
    )  # fmt: skip
    return mapped.astype("boolean")


def refuse(
    path: str | Path,
    column: str,
    at_fault: pd.Series,
    problem: str,
    values: pd.Series | None = None,
    remedy: str = "Correct or delete the row.",
) -> None:
    """Raise LingprobError with file, row, column, problem and remedy if a row is at fault, (n,).

    If `values` are given, the message also has the value of this row.
    """
    refuse_rows(
        at_fault.reset_index(drop=True),
        "{path}, data row {row}, column {column!r}: {fault}"
        + ("" if values is None else ": {value!r}")
        + " ({count} such rows). {remedy}",
        None if values is None else pd.DataFrame({"value": values}),
        path=path,
        column=column,
        fault=problem,
        remedy=remedy,
    )
