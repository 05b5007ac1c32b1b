"""A user's own tables: files of five formats, read as columns of text and numbers."""

import json
import logging
import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pandas.api import types

from lingprob.errors import LingprobError, no_such_file, refuse_rows
from lingprob.io.text_tables import decoded, read_rows
from lingprob.io.text_units import split_lines

SEPARATORS = {".csv": ",", ".tsv": "\t"}
FORMATS = (*SEPARATORS, ".parquet", ".xlsx", ".jsonl")
NO_NUMBER = {"", ".", "NA", "N/A", "NaN", "nan", "NULL", "null", "None"}
EXACT = 2**53  # float64 represents whole numbers up to this one exactly
LARGEST = 2**31 - 1  # largest whole number in the project's tables
logger = logging.getLogger(__name__)


def read_frame(path: Path) -> pd.DataFrame:
    """Return the table in a file of one of `FORMATS`: CSV, TSV, Parquet, Excel or JSON lines.

    All columns of CSV, TSV and Excel files are text, '' if empty. Raises LingprobError if the file
    is absent, damaged, ambiguous, without rows, or of another format or encoding.
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
    except (pa.ArrowException, OSError, ValueError) as error:
        raise LingprobError(
            f"{path}: cannot be read as a table ({' '.join(str(error).split())}). Write the file "
            "again."
        ) from error
    refuse_names(path, frame)
    if frame.empty:
        raise LingprobError(f"{path}: no rows. It must have a header line and rows below it.")
    return frame


def refuse_names(path: str | Path, frame: pd.DataFrame) -> None:
    """Raise LingprobError if two columns have one name, or if names have several levels."""
    if frame.columns.nlevels > 1:
        raise LingprobError(f"{path}: its columns have names of several levels. Name each once.")
    again = frame.columns[frame.columns.duplicated() & (frame.columns != "")]
    if len(again):
        raise LingprobError(f"{path}: two columns are named {again[0]!r}. Rename or delete one.")


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
            rows.append({**json.loads(line, object_pairs_hook=each_once)})
        except (ValueError, TypeError) as error:
            raise LingprobError(
                f"{path}, line {number}: not a JSON object ({error}). Each line is a row, such as "
                '{"sentence": "The cat sleeps."}.'
            ) from error
    return pd.DataFrame(rows)


def each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object's pairs as a dict. Raises ValueError for a repeated key."""
    if len(content := dict(pairs)) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"{next(key for key in keys if keys.count(key) > 1)!r} occurs twice")
    return content


def need_columns(path: str | Path, frame: pd.DataFrame, needed: Iterable[str], remedy: str) -> None:
    """Raise LingprobError, which ends with the remedy, if a file's table lacks needed columns."""
    if missing := [column for column in needed if column not in frame.columns]:
        alike = names_alike(frame, missing)
        hint = f"Did you mean {as_setting(alike)}? " if alike else ""
        raise LingprobError(
            f"{path}: no columns {missing}. It has {list(frame.columns)[:12]}. {hint}{remedy}"
        )


def names_alike(frame: pd.DataFrame, names: Iterable[str]) -> dict[str, str]:
    """Return {name: column} for absent names from which a column differs in case or marks only."""
    plain = {_plain(str(column)): str(column) for column in frame.columns}
    absent = [name for name in names if name not in frame.columns]
    return {name: plain[_plain(name)] for name in absent if _plain(name) in plain}


def _plain(name: str) -> str:
    return re.sub(r"[\W_]", "", name).lower()


def warn_of_spelling(path: str | Path, columns: Mapping[str, str], remedy: str) -> None:
    """Log a warning about columns that are not read because of their spelling."""
    if columns:
        said = "%s: columns that are not read because of their spelling: %s. %s"
        logger.warning(said, path, as_setting(columns), remedy)


def as_setting(columns: Mapping[str, str]) -> str:
    """Return {this project's name: the file's name} as it is written in a configuration file."""
    return "{" + ", ".join(f"{ours}: {theirs}" for ours, theirs in columns.items()) + "}"


def numeric(path: str | Path, column: str, values: pd.Series, nullable: bool = False) -> pd.Series:
    """Return a column of a file as float64. Raises LingprobError for a row without a finite number.

    Missing values of a `nullable` column are NaN, but not all of them may be missing.
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
    """Return a column of a file as int64. Raises LingprobError for a row below `smallest`."""
    numbers = numeric(path, column, values)
    refuse(path, column, numbers % 1 != 0, "no whole number", values)
    refuse(path, column, numbers < smallest, f"below {smallest}", values)
    refuse(path, column, numbers > LARGEST, f"above {LARGEST}", values)
    return numbers.astype("int64")


def text_of(path: str | Path, column: str, values: pd.Series) -> pd.Series:
    """Return a column of a file as strings, pandas.NA if empty. Whole numbers become text.

    Raises LingprobError for a row with another value.
    """
    if types.is_float_dtype(values.dtype) and (values.dropna() % 1 == 0).all():
        said = "too large to be exact as a decimal number"
        refuse(path, column, values.abs() >= EXACT, said, values, "Write the column as text.")
        values = values.astype("Int64")  # pandas turns 1 into 1.0 if the column has missing values
    if not (types.is_numeric_dtype(values.dtype) or isinstance(values.dtype, pd.StringDtype)):
        values = values.astype(object)
        odd = values.map(lambda value: not isinstance(value, str | bool | int)) & values.notna()
        refuse(path, column, odd, "not text", values)
    return values.astype("string").replace("", pd.NA)


def label_of(path: str | Path, column: str, values: pd.Series) -> pd.Series:
    """Return a column of ids or names as `text_of` does, each without outer white space."""
    return text_of(path, column, values).str.strip().replace("", pd.NA)


def warn_of_outer_space(path: str | Path, column: str, texts: pd.Series) -> None:
    """Log a warning about sentences with white space at their ends, which is kept."""
    given = texts.fillna("").astype(str)
    if len(outer := given[given != given.str.strip()]):
        logger.warning(
            "%s, column %r: %d sentences, such as %r, have white space at their ends. This changes "
            "tokens. Delete it unless it is meant.", path, column, len(outer), outer.iloc[0],
        )  # fmt: skip


def as_boolean(
    path: str | Path, column: str, values: pd.Series, meaning: Mapping[object, bool] | None = None
) -> pd.Series:
    """Return a column of a file as booleans, with pandas.NA for empty values.

    The values are true/false, 1/0 or yes/no in any case, or the keys of `meaning`.
    """
    words = {True: ("true", "1", "yes"), False: ("false", "0", "no")}
    known: dict[str, bool] = {}
    for value, truth in (meaning or {True: True, False: False}).items():
        # YAML reads an unquoted yes as true.
        same = words[value] if isinstance(value, bool) else (str(value).strip().lower(),)
        known |= dict.fromkeys(same, truth)
    values = label_of(path, column, values)
    if "" in known:
        values = values.fillna("")
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
    """Raise LingprobError with file, row, its value and the remedy if `at_fault` (n,) has True."""
    said = "{path}, data row {row}, column {column!r}: {fault}"
    said += "" if values is None else ": {value!r}"
    refuse_rows(
        at_fault,
        said + " (such rows: {count}). {fix}",
        None if values is None else pd.DataFrame({"value": values}),
        path=path, column=column, fault=problem, fix=remedy,
    )  # fmt: skip
