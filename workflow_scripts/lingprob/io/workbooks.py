"""Rows of Excel workbooks, with cells as text as they would stand in a CSV."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from python_calamine import CalamineError, CalamineWorkbook

from lingprob.errors import LingprobError

TIMES = (datetime.date, datetime.time, datetime.timedelta)


def rows_of_first_sheet(path: Path) -> Iterator[list[Any]]:
    """Yield the rows of a workbook's first sheet, a row at a time: some have 51 million cells.

    Raises OSError where there is no such file, ValueError where it is no workbook.
    """
    try:
        yield from _workbook(path).get_sheet_by_index(0).iter_rows()
    except CalamineError as error:
        raise ValueError(str(error)) from error


def rows_of_only_sheet(path: Path) -> list[list[str]]:
    """Return the rows of the only sheet that has any, as text; blank ones are left out.

    Raises LingprobError where several sheets have rows, and for a date: Excel makes one of what
    looks like it (1-2 of an item). Raises as `rows_of_first_sheet` does, too.
    """
    try:
        workbook = _workbook(path)
        sheets = {
            name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names
        }
    except CalamineError as error:
        raise ValueError(str(error)) from error
    filled = [name for name, rows in sheets.items() if rows]
    if len(filled) > 1:
        raise LingprobError(
            f"{path}: {len(filled)} sheets have rows ({', '.join(filled)}), and a table is one. "
            "Leave its sheet alone in the workbook, or save that as CSV."
        )
    found = []
    for number, row in enumerate(sheets[filled[0]] if filled else []):
        for place, cell in enumerate(row):
            if isinstance(cell, TIMES):
                raise LingprobError(
                    f"{path}, data row {number}, column {place + 1}: a date or time, {cell}. Where "
                    "Excel made it of something else, format the column as text and type it again."
                )
        texts = [as_text(cell) for cell in row]
        if any(texts):
            found.append(texts)
    return found


def as_text(cell: object) -> str:
    """Return a cell as it would stand in a CSV: a sheet knows no whole numbers."""
    return str(int(cell) if isinstance(cell, float) and cell.is_integer() else cell)


def _workbook(path: Path) -> CalamineWorkbook:
    path.stat()  # so that a file that is not there is no damaged one
    return CalamineWorkbook.from_path(path)
