"""Read published tables of reading times.

A parser of reading times takes a Source. It returns a frame with subject_id, passage_id, word_index
and rt_ms (ms, NaN or 0 if a word was not fixated), one row per reader and word. If the data have
them, it also returns word, previous_fixated, saccade (distance in words from the previous
fixation), at_edge (of a line or screen) and correct (number of comprehension questions that the
reader answered correctly). `io.parsers` lists the parsers by their names in the catalog.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from lingprob.errors import LingprobError, no_such_file, only_one
from lingprob.io.table_files import need_columns, numeric, whole
from lingprob.io.workbooks import as_text, rows_of_first_sheet

OTHER = "Is the file another version?"
READER = "mean"  # subject_id if only means over readers are known
NUMBERS = {"rt_ms", "correct", "skipped"}
WHOLE = {"number", "sentence", "position", "letters"}


class Source(NamedTuple):
    """The argument of a parser: a data set's files, its text's `words` table, its entry.

    `seed` is the seed of simulated times.
    """

    files: Sequence[Path]
    words: pd.DataFrame
    entry: dict[str, Any]
    seed: int


def check_files(files: Sequence[Path], corpus: str, *, is_own: bool) -> None:
    """Raise LingprobError if a data set's file is absent, or a user's one (`is_own`) is several."""
    for path in files:
        if not path.is_file():
            raise no_such_file(path)
    if is_own:
        only_one(files, corpus)


def read(
    path: Path,
    separator: str,
    columns: Sequence[str],
    *,
    encoding: str = "utf-8-sig",
    quoting: int = 3,
) -> pd.DataFrame:
    """Return `columns` of a CSV file or workbook as text, '' if empty.

    `quoting` is an option of pandas. With 3, quotation marks are text. Raises LingprobError that
    names the file if it cannot be read or lacks a column.
    """
    try:
        if path.suffix in (".xlsx", ".xls"):
            table = _first_sheet(path, columns)
        else:
            table = pd.read_csv(
                path, sep=separator, dtype=str, keep_default_na=False, quoting=quoting,
                encoding=encoding,
            )  # fmt: skip
    except (ValueError, KeyError, OSError) as error:
        raise LingprobError(f"{path}: cannot be read ({error}). Download it again.") from error
    need_columns(path, table, columns, OTHER)
    return table[list(columns)]


def _first_sheet(path: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return those of `columns` that a workbook's first sheet has, as text.

    Rows are read one by one, because GECO's workbook has 51 million cells.
    """
    rows = rows_of_first_sheet(path)
    names = [as_text(cell) for cell in next(rows, [])]
    places = [names.index(name) for name in columns if name in names]
    if len(places) < len(columns):
        return pd.DataFrame(columns=names)
    kept = [[as_text(row[place]) for place in places] for row in rows]
    return pd.DataFrame(kept, columns=list(columns), dtype=str)


def read_times(path: Path, separator: str, columns: Mapping[str, str], **how: Any) -> pd.DataFrame:
    """Return a table of times with the columns that are the keys of `columns`.

    The values of `columns` are the names in the file. NUMBERS are floats, NaN if the field is
    empty, a dot or NA. WHOLE are ints, and other columns are text. `how` has options of `read`.
    Errors name the file, the column and the first row at fault.
    """
    table = read(path, separator, list(columns.values()), **how)
    frame = pd.DataFrame({name: table[column] for name, column in columns.items()})
    for name in NUMBERS & set(columns):
        frame[name] = numeric(path, columns[name], frame[name], nullable=True)
    for name in WHOLE & set(columns):
        frame[name] = whole(path, columns[name], frame[name])
    return frame
