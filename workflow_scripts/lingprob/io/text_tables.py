"""Rows of CSV and TSV files, read so that no quotation mark can swallow a row.

One physical line is one row. Programs differ in what a quotation mark means, so each file is read
both ways, as text and as CSV quoting, and a file for which both are possible is refused unless its
form decides. In TSV quotation marks are text, unless the header is quoted or every field with one
is quoted as a CSV writer must quote it. In CSV they quote, unless a line could not be read so.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from lingprob.errors import LingprobError
from lingprob.io.text_units import split_lines

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon"}
QUOTED_FIELD = re.compile(r'"(?:[^"]|"")*"')
Rows = list[list[str]]


def read_rows(path: Path, separator: str) -> tuple[list[str], Rows]:
    """Return the names in the first line of a file and the fields of each line below it.

    Empty lines are left out. A first line such as `sep=;`, which Excel reads, names the separator.

    Args:
        path: a file in UTF-8, or in UTF-16 with a byte-order mark.
        separator: a comma or a tab.

    Raises LingprobError that names the line and the cause if lines differ in their number of
    fields, if a quoted field runs over a line end, or if quotation marks can be read in two ways.
    Raises UnicodeError for another encoding.
    """
    lines = [(n, line) for n, line in enumerate(split_lines(decoded(path)), start=1) if line]
    if lines and (declared := re.fullmatch(r"sep=(.)", lines[0][1].strip('"'))):
        separator = declared[1]
        lines = lines[1:]
    if not lines:
        return [], []
    texts = [line for _, line in lines]
    as_text = [line.split(separator) for line in texts]
    if len(as_text[0]) == 1 and (other := _other_separator(texts[0], separator)):
        raise LingprobError(
            f"{path}: one column, {texts[0]!r}. Its columns are separated by a {other}, and those "
            f"of {path.suffix} by a {DELIMITERS[separator]}: save it in that form."
        )
    has_marks = any('"' in text for text in texts)
    rows = _choose(path, separator, texts, as_text) if has_marks else as_text
    if len(rows[0]) > 1 and all(name.startswith(" ") for name in rows[0][1:]):
        rows = [[field.removeprefix(" ") for field in row] for row in rows]
    return _even(path, separator, [number for number, _ in lines], rows)


def _other_separator(header: str, separator: str) -> str | None:
    """Return the name of another delimiter that a header has, if it is not the separator."""
    found = (name for mark, name in DELIMITERS.items() if mark != separator and mark in header)
    return next(found, None)


def decoded(path: Path) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte-order mark."""
    content = path.read_bytes()
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    return content.decode("utf-16" if utf16 else "utf-8-sig")


def _choose(path: Path, separator: str, texts: Sequence[str], as_text: Rows) -> Rows:
    """Return the rows as the quotation marks of a file are meant."""
    quoted = _quoted(texts, separator)
    if separator == "\t":
        decided = quoted is not None and (
            _is_quoted(texts[0], separator)
            or _writer_quoted(as_text)
            or (_is_even(quoted) and not _is_even(as_text))
        )
        if quoted is None or decided:
            return quoted or as_text
        fields = [field for row in as_text for field in row]
        doubled = [one for one in fields if QUOTED_FIELD.fullmatch(one) and '""' in one[1:-1]]
        if doubled:
            raise LingprobError(
                f"{path}: the quotation marks of {doubled[0]} may quote the field or be text. "
                "Write the table as CSV, or without quoting fields."
            )
        return as_text
    if quoted is not None:
        return quoted
    joined = _joined(texts, separator)
    mixed = any(QUOTED_FIELD.fullmatch(field) for row in as_text for field in row)
    if _is_even(as_text) and joined is None and not mixed:
        return as_text
    line = next(n for n, text in enumerate(texts, start=1) if _quoted([text], separator) is None)
    if joined is not None:
        raise LingprobError(
            f"{path}: the quoted field that opens in row {line} runs over the end of its line. "
            "Put each row on one line, or double the quotation marks that are text."
        )
    raise LingprobError(
        f"{path}: the quotation marks in row {line} quote no field, and those elsewhere do, or a "
        f"{DELIMITERS.get(separator, repr(separator))} is part of a field. Quote the field in row "
        f"{line}, and double the quotation marks in it."
    )


def _quoted(texts: Sequence[str], separator: str) -> Rows | None:
    """Return the fields of each line by CSV's rule, or None if a line breaks it."""
    rows = []
    for text in texts:
        try:
            rows.append(next(csv.reader([text], delimiter=separator, strict=True)))
        except csv.Error:
            return None
    return rows


def _joined(texts: Sequence[str], separator: str) -> Rows | None:
    """Return the rows of a file whose quoted fields may run over lines, or None if uneven."""
    stream = io.StringIO("\n".join(texts), newline="")
    try:
        rows = list(csv.reader(stream, delimiter=separator, strict=True))
    except csv.Error:
        return None
    return rows if _is_even(rows) else None


def _is_even(rows: Rows) -> bool:
    return len({len(row) for row in rows}) == 1


def _is_quoted(line: str, separator: str) -> bool:
    return all(len(name) > 1 and name[0] == name[-1] == '"' for name in line.split(separator))


def _writer_quoted(as_text: Rows) -> bool:
    """Say whether every field with a quotation mark is one that a CSV writer had to quote."""
    marked = [field for row in as_text for field in row if '"' in field]
    return all(
        len(field) > 3 and field[0] == field[-1] == '"' and '""' in field[1:-1] for field in marked
    )


def _even(path: Path, separator: str, numbers: Sequence[int], rows: Rows) -> tuple[list[str], Rows]:
    """Return header and rows of one length; empty fields after the last column are dropped."""
    names, *body = rows
    names = [name.strip() for name in names]
    longest = max(map(len, rows))
    while longest > 1 and not any(row[longest - 1 :] not in ([], [""]) for row in [names, *body]):
        names, body = names[: longest - 1], [row[: longest - 1] for row in body]
        longest -= 1
    wrong = [place for place, row in enumerate(body) if len(row) != len(names)]
    if not wrong:
        return names, body
    said = (
        f"{path}, line {numbers[wrong[0] + 1]}: {len(body[wrong[0]])} fields, where the header has "
        f"{len(names)} ({len(wrong)} such lines)."
    )
    if len(names) == 1:
        raise LingprobError(
            f"{said} The first line must name the columns. Delete a title or comment above them."
        )
    numbered = [row[0] for row in body] == [str(n) for n in range(1, len(body) + 1)]
    if numbered and all(len(row) == len(names) + 1 for row in body):
        raise LingprobError(
            f"{said} R writes row names in this way: write the table again with row.names = FALSE."
        )
    name = DELIMITERS.get(separator, repr(separator))
    raise LingprobError(
        f"{said} A field that contains a {name} must be in quotation marks, and no field may be "
        "missing."
    )
