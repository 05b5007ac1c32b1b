"""Rows of CSV and TSV files, read so that an unpaired quotation mark cannot swallow rows.

One line is one row. A quotation mark may quote a field or be part of its text, so each file is read
in both ways. In a TSV file the marks are text, unless the header is quoted or every field with a
mark is quoted as a CSV writer would quote it. In a CSV file the marks quote fields, unless a line
breaks CSV's rule of quoting. If both ways remain possible, the file is refused.
"""

import csv
import logging
import re
from collections.abc import Sequence
from pathlib import Path

from lingprob.errors import LingprobError, no_such_file
from lingprob.io.text_units import split_lines

DELIMITERS = {",": "comma", "\t": "tab", ";": "semicolon"}
# First bytes, in lower case, of files that are not plain text, whatever their names.
KINDS = {
    b"\x1f\x8b": "compressed (gzip)", b"\xfd7zxz": "compressed (xz)",
    b"pk\x03\x04": "a workbook or a zip archive",
    b"\xd0\xcf\x11\xe0": "a workbook of an old Excel", b"%pdf-": "PDF",
    b"{\\rtf": "rich text (RTF)", b"<!doctype html": "a web page (HTML)",
    b"<html": "a web page (HTML)", b"warc/": "a web archive (WARC)",
}  # fmt: skip
QUOTED_FIELD = re.compile(r'"(?:[^"]|"")*"')
Rows = list[list[str]]
logger = logging.getLogger(__name__)


def read_rows(path: Path, separator: str) -> tuple[list[str], Rows]:
    """Return the names in the first line of a file, and the fields of each line below it.

    Empty lines are left out. The separator is a comma or a tab, or that of a first line such as
    `sep=;`, as Excel reads it.

    Raises LingprobError if lines differ in their number of fields, if a quoted field runs over a
    line end, or if quotation marks can be read in two ways. Other errors are those of `decoded`.
    """
    lines = [(n, line) for n, line in enumerate(split_lines(decoded(path)), start=1) if line]
    if lines and (declared := re.fullmatch(r"sep=(.)", lines[0][1].strip('"'))):
        separator = declared[1]
        lines = lines[1:]
    if not lines:
        return [], []
    texts = [line for _, line in lines]
    plain = [line.split(separator) for line in texts]
    others = [name for mark, name in DELIMITERS.items() if mark in texts[0]]
    if len(plain[0]) == 1 and others:
        raise LingprobError(
            f"{path}: one column, {texts[0]!r}. Its columns are separated by a {others[0]}, and "
            f"those of {path.suffix} by a {DELIMITERS[separator]}: save it in that form."
        )
    choose = _choose_tsv if separator == "\t" else _choose_csv
    rows = choose(path, separator, texts, plain) if any('"' in text for text in texts) else plain
    if len(rows[0]) > 1 and all(name.startswith(" ") for name in rows[0][1:]):
        rows = [[field.removeprefix(" ") for field in row] for row in rows]
    return _even(path, separator, [number for number, _ in lines], rows)


def decoded(path: Path) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte-order mark.

    Logs letters that an earlier conversion has lost. Raises LingprobError for another file.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise no_such_file(path) from error
    except OSError as error:
        raise LingprobError(f"{path}: cannot be read ({error}). Check its path.") from error
    refuse_other_kinds(path, content)
    utf16 = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = content.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeError as error:
        raise LingprobError(
            f"{path} is not text in UTF-8. Save it in UTF-8 (in a spreadsheet: `CSV UTF-8`). "
            f"({error})"
        ) from error
    if "\0" in text:
        raise LingprobError(
            f"{path}: null characters, so it is damaged, or in another encoding than UTF-8. Save "
            "it as text in UTF-8."
        )
    if lost := text.count("\ufffd"):
        line = len(split_lines(text[: text.index("\ufffd") + 1]))
        said = "%s: %d letters were lost in a conversion (U+FFFD), the first in line %d."
        logger.warning(said, path, lost, line)
    if mangled := find_mangled(text):
        logger.warning(
            "%s: %r is probably %r in a wrong encoding. Take the file from its source again, and "
            "save it in UTF-8.", path, *mangled,
        )  # fmt: skip
    return text


def find_mangled(text: str) -> tuple[str, str] | None:
    """Return the first letters whose UTF-8 was read as Windows-1252, and the right ones."""
    for letters in re.findall("[\u00c2-\u00c5\u00e2][\u0080-\u02ff\u2010-\u2122]+", text):
        try:
            original = letters.encode("cp1252").decode()
        except UnicodeError:
            continue
        if re.fullmatch("[\u00a0-\u017f\u2010-\u203a]+", original):
            return letters, original
    return None


def refuse_other_kinds(path: Path, content: bytes) -> None:
    """Raise LingprobError if the first bytes of a file show that it is no plain text."""
    head = content[:100].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if kind := next((name for magic, name in KINDS.items() if head.startswith(magic)), None):
        raise LingprobError(f"{path}: the file is {kind}, no plain text. Convert it to text.")


def _choose_tsv(path: Path, separator: str, texts: Sequence[str], plain: Rows) -> Rows:
    """Return the rows of a TSV file. `plain` are its rows if all quotation marks are text."""
    quoted = _quoted(texts, separator)
    if quoted is None:
        return plain
    marked = [field for row in plain for field in row if '"' in field]
    doubled = [one for one in marked if QUOTED_FIELD.fullmatch(one) and '""' in one[1:-1]]
    if (
        all(len(name) > 1 and name[0] == name[-1] == '"' for name in plain[0])
        or len(doubled) == len(marked)
        or (_is_even(quoted) and not _is_even(plain))
    ):
        return quoted
    if doubled:
        raise LingprobError(
            f"{path}: the quotation marks of {doubled[0]} may quote the field or be text. "
            "Write the table as CSV, or without quoting fields."
        )
    return plain


def _choose_csv(path: Path, separator: str, texts: Sequence[str], plain: Rows) -> Rows:
    """Return the rows of a CSV file. Arguments as for `_choose_tsv`."""
    quoted = _quoted(texts, separator)
    if quoted is not None:
        return quoted
    over_lines = _quoted(texts, separator, over_lines=True)
    runs_over = over_lines is not None and _is_even(over_lines)
    mixed = any(QUOTED_FIELD.fullmatch(field) for row in plain for field in row)
    if _is_even(plain) and not runs_over and not mixed:
        return plain
    line = next(n for n, text in enumerate(texts, start=1) if _quoted([text], separator) is None)
    if runs_over:
        raise LingprobError(
            f"{path}: the quoted field that opens in row {line} runs over the end of its line. "
            "Put each row on one line, or double the quotation marks that are text."
        )
    raise LingprobError(
        f"{path}: the quotation marks in row {line} quote no field, and those elsewhere do, or a "
        f"{DELIMITERS.get(separator, repr(separator))} is part of a field. Quote the field in row "
        f"{line}, and double the quotation marks in it."
    )


def _quoted(texts: Sequence[str], separator: str, over_lines: bool = False) -> Rows | None:
    """Return the fields of lines by CSV's rule of quoting, or None if a line breaks the rule.

    With `over_lines`, a quoted field may continue on the next line.
    """
    parts = [[f"{text}\n" for text in texts]] if over_lines else [[text] for text in texts]
    try:
        return [row for part in parts for row in csv.reader(part, delimiter=separator, strict=True)]
    except csv.Error:
        return None


def _is_even(rows: Rows) -> bool:
    return len({len(row) for row in rows}) == 1


def _even(path: Path, separator: str, numbers: Sequence[int], rows: Rows) -> tuple[list[str], Rows]:
    """Return the header and the rows below it, without empty columns at the end.

    `numbers` are the numbers of the rows' lines. Raises LingprobError for a row of another length.
    """
    rows = [[name.strip() for name in rows[0]], *rows[1:]]
    filled = [place for row in rows for place, field in enumerate(row, start=1) if field]
    width = max(filled, default=1)
    names, *body = [row[:width] for row in rows]
    if names in body:
        raise LingprobError(
            f"{path}, line {numbers[body.index(names) + 1]}: the names of the columns again. If "
            "several files were joined, delete the later names."
        )
    wrong = [place for place, row in enumerate(body) if len(row) != len(names)]
    if not wrong:
        return names, body
    said = (
        f"{path}, line {numbers[wrong[0] + 1]}: {len(body[wrong[0]])} fields, but the header has "
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
