"""The tables that reading times come as, read with clear errors.

A parser of reading times takes a Source and returns subject_id, passage_id, word_index and rt_ms
(ms; NaN or 0 where a word was not fixated) and, where known, word, previous_fixated, saccade
(words), at_edge (of a line or screen) and correct (answers to comprehension questions).
`lingprob.io.parsers` has the parsers by the name that an entry gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.workbooks import as_text, rows_of_first_sheet

if TYPE_CHECKING:
    import pandas as pd

READER = "mean"  # of times that are only known as means over readers
LARGEST = 2**53  # whole numbers up to here are exact as floats


def read(
    path: Path,
    separator: str,
    columns: Sequence[str],
    *,
    encoding: str = "utf-8-sig",
    quoting: int = 3,
) -> pd.DataFrame:
    """Read a table as text and keep `columns`; quoting 3 takes quotation marks as they stand.

    Raises LingprobError that names the file if it cannot be read or lacks a column.
    """
    try:
        if path.suffix in (".xlsx", ".xls"):
            table = _first_sheet(path, columns)
        else:
            table = pd.read_csv(
                path, sep=separator, dtype=str, keep_default_na=False, quoting=quoting,
                encoding=encoding,
            )  # fmt: skip
    except UnicodeDecodeError as error:
        raise LingprobError(
            f"{path}: not text in {encoding.removesuffix('-sig')} ({error}). Save a file of "
            "your own in UTF-8; fetch another again."
        ) from error
    except (ValueError, KeyError, OSError) as error:
        raise LingprobError(f"{path}: cannot be read ({error}). Fetch the file again.") from error
    missing = [column for column in columns if column not in table.columns]
    if missing:
        raise LingprobError(
            f"{path}: no column {missing[0]!r}, but {list(table.columns)[:12]}. Is it another file?"
        )
    return table[list(columns)]


def _first_sheet(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return `columns`, where they are there, of a workbook's first sheet as text.

    Row by row and these alone: GECO's workbook has 51 million cells.
    """
    rows = rows_of_first_sheet(path)
    names = [as_text(cell) for cell in next(rows, [])]
    places = [names.index(name) for name in columns if name in names]
    if len(places) < len(columns):
        return pd.DataFrame(columns=names)
    kept = [[as_text(row[place]) for place in places] for row in rows]
    return pd.DataFrame(kept, columns=list(columns), dtype=str)


def number(path: Path, values: pd.Series, *, missing: Sequence[str] = ("",)) -> pd.Series:
    """Turn a column's text into floats, `missing` into NaN.

    Raises LingprobError that names the file, the column and the first row that is no number.
    """
    absent = values.isin(list(missing))
    found = pd.to_numeric(values.where(~absent), errors="coerce").astype(float)
    refuse_rows(
        found.isna() & ~absent,
        "{path}, data row {row}, column {column!r}: {value!r} is not a number. Mend the row, or "
        "leave the field empty.",
        values.to_frame("value"),
        path=path,
        column=values.name,
    )
    return found


def whole(path: Path, values: pd.Series) -> pd.Series:
    """Turn a column's text into whole numbers; errors as in `number`."""
    found = number(path, values, missing=())
    refuse_rows(
        (found % 1 != 0) | (found.abs() > LARGEST),
        "{path}, data row {row}, column {column!r}: {value!r} is no whole number. Mend the row.",
        values.to_frame("value"),
        path=path,
        column=values.name,
    )
    return found.astype(int)


class Source(NamedTuple):
    """What the parser of a data set's reading times reads.

    files: of the data set. words: the `words` table of its text. entry: the catalog's. seed: of
    simulated times.
    """

    files: Sequence[Path]
    words: pd.DataFrame
    entry: dict[str, Any]
    seed: int
