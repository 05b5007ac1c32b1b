"""Rows of Excel workbooks."""

import datetime
import logging
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook

from lingprob.errors import LingprobError

logger = logging.getLogger(__name__)
TIMES = (datetime.date, datetime.time, datetime.timedelta)


def rows_of_first_sheet(path: Path) -> Iterator[list[Any]]:
    """Yield the rows of the first sheet. Raises OSError or ValueError without a workbook."""
    with _workbook(path) as workbook:
        yield from workbook.get_sheet_by_index(0).iter_rows()


def rows_of_only_sheet(path: Path) -> list[list[str]]:
    """Return the rows of the only sheet with rows, as text. Empty rows are left out.

    Raises LingprobError if several sheets have rows, and for a date, an error, or a formula without
    a value. Excel turns text such as 1-2 into a date. Others are as in `rows_of_first_sheet`.
    """
    with _workbook(path) as workbook:
        sheets = {name: workbook.get_sheet_by_name(name) for name in workbook.sheet_names}
        filled = {name: rows for name, sheet in sheets.items() if (rows := sheet.to_python())}
    if len(filled) > 1:
        raise LingprobError(
            f"{path}: {len(filled)} sheets have rows ({', '.join(filled)}), and a table is one. "
            "Leave its sheet alone in the workbook, or save that as CSV."
        )
    if not filled:
        return []
    ((name, rows),) = filled.items()
    first_row, _ = sheets[name].start or (0, 0)
    for number, row in enumerate(rows, start=first_row + 1):
        if times := [cell for cell in row if isinstance(cell, TIMES)]:
            raise LingprobError(
                f"{path}, sheet {name!r}, row {number}: a date or time, {times[0]}. If Excel made "
                "it from other text, format the column as text and type the text again. Otherwise "
                "delete the column, or save the table as CSV."
            )
    _check_cells(path, name)
    texts = ([as_text(cell) for cell in row] for row in rows)
    return [row for row in texts if any(row)]


def _check_cells(path: Path, sheet: str) -> None:
    """Raise LingprobError at merged cells, an error, or a formula without a stored value."""
    from openpyxl import load_workbook  # type: ignore[import-untyped]

    try:
        with zipfile.ZipFile(path) as archive:
            parts = [archive.read(name) for name in archive.namelist() if "worksheets/" in name]
        if hidden := sum(len(re.findall(rb'<row [^>]*hidden="[1t]', part)) for part in parts):
            logger.warning("%s: %d rows are hidden, and are read like the others.", path, hidden)
        if any(b"<mergeCell " in part for part in parts):
            raise LingprobError(
                f"{path}, sheet {sheet!r}: merged cells, of which only the first has the value. "
                "Unmerge them and fill each cell."
            )
        if not any(b"<f" in part or b't="e"' in part for part in parts):
            return
        books = [load_workbook(path, read_only=True, data_only=values) for values in (True, False)]
        cells = [[cell for row in book[sheet] for cell in row] for book in books]
    except LingprobError:
        raise
    except Exception as error:  # a damaged part can make the libraries raise any exception
        raise ValueError(str(error)) from error
    for value, given in zip(*cells, strict=True):
        if value.data_type == "e":
            problem = f"the error {value.value}"
        elif given.data_type == "f" and value.value is None and value.data_type != "s":
            problem = f"the formula {given.value} without a stored value"
        else:
            continue
        raise LingprobError(
            f"{path}, sheet {sheet!r}, row {given.row}, column {given.column_letter}: {problem}. "
            "Correct it, or open the workbook in a spreadsheet program and save it as CSV."
        )


def as_text(cell: object) -> str:
    """Return a cell's text as in a CSV file. Excel has only floats, so 3.0 becomes 3."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


@contextmanager
def _workbook(path: Path) -> Iterator[CalamineWorkbook]:
    path.stat()  # a missing file is not a damaged one
    try:
        yield CalamineWorkbook.from_path(path)
    except CalamineError as error:
        raise ValueError(str(error)) from error
