"""CSV and TSV files by every writer are read as they were written, or refused."""

import csv
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.errors import LingprobError
from lingprob.io.table_files import read_frame, text_of

# Letters, digits, spaces and marks that readers of tables have tripped over.
ODD = [*"ab1\"'`,;\t |", "\u00a0", "\u2028", "\x0c", "\x85", *"²①é猫\\#", '""', "NA"]
CELLS = st.lists(st.sampled_from(ODD), max_size=6).map("".join)
SENTENCES = st.lists(
    st.sampled_from(['"No,"', '"Yes"', "he", 'said "go"', "on.", '"', "5'", '6"', '"I', 'do."']),
    min_size=1,
    max_size=6,
).map(" ".join)
TABLES = st.integers(2, 3).flatmap(
    lambda width: st.lists(
        st.lists(CELLS | SENTENCES, min_size=width, max_size=width), min_size=1, max_size=6
    )
)
NAMES = ["sentence", "item", "note"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tables")


def by_csv(path: Path, rows: list[list[str]], separator: str, quoting: int) -> None:
    with open(path, "w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, delimiter=separator, quoting=quoting).writerows(rows)


def by_pandas(path: Path, rows: list[list[str]], separator: str, quoting: int) -> None:
    frame = pd.DataFrame(rows[1:], columns=rows[0])
    frame.to_csv(path, sep=separator, index=False, quoting=quoting, encoding="utf-8-sig")


def by_hand(path: Path, rows: list[list[str]], separator: str, end: str = "\n") -> None:
    content = "".join(separator.join(row) + end for row in rows)
    path.write_bytes(content.encode("utf-8"))


def read_or_refuse(path: Path, rows: list[list[str]]) -> None:
    """Read a table, which must equal the rows or be refused."""
    try:
        frame = read_frame(path)
    except LingprobError:
        return
    assert list(frame.columns) == rows[0]
    assert frame.to_numpy().tolist() == rows[1:]


def tables_of_writers_that_quote(path: Path, rows: list[list[str]], data: st.DataObject) -> None:
    rows = [NAMES[: len(rows[0])], *rows]
    path = path.with_suffix(data.draw(st.sampled_from([".csv", ".tsv"])))
    write = data.draw(st.sampled_from([by_csv, by_pandas]))
    quoting = data.draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]))
    write(path, rows, "," if path.suffix == ".csv" else "\t", quoting)
    read_or_refuse(path, rows)


def tables_by_hand_with_tabs(path: Path, rows: list[list[str]], data: st.DataObject) -> None:
    """A tab in a cell is no cell, and quotation marks are text."""
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    rows = [NAMES[: len(rows[0])], *[[cell.replace("\t", " ") for cell in row] for row in rows]]
    doubled = any('""' in cell for row in rows for cell in row)
    path = path.with_suffix(".tsv")
    by_hand(path, rows, "\t", end)
    if not doubled:  # else a program may have written it
        read_or_refuse(path, rows)


def sentences_by_hand_in_csv(path: Path, words: list[str], data: st.DataObject) -> None:
    """Marks inside a sentence are kept; those around all of it quote it, as in any CSV."""
    texts = [text.replace(",", "") for text in words]
    rows = [["sentence", "rating"], *[[text, str(n)] for n, text in enumerate(texts)]]
    path = path.with_suffix(".csv")
    by_hand(path, rows, ",")
    try:
        frame = read_frame(path)
    except LingprobError:
        return
    assert frame["rating"].tolist() == [row[1] for row in rows[1:]]
    kept = frame["sentence"].tolist()
    assert kept == texts or kept == [next(csv.reader([text], strict=True))[0] for text in texts]


@pytest.mark.parametrize("examples", [100, pytest.param(700, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("attempt", "strategy"),
    [
        (tables_of_writers_that_quote, TABLES),
        (tables_by_hand_with_tabs, TABLES),
        (sentences_by_hand_in_csv, st.lists(SENTENCES, min_size=1, max_size=6)),
    ],
)
def test_written_tables_are_read_or_refused(folder, attempt, strategy, examples):
    wanted = settings(max_examples=examples, deadline=None, database=None)
    wanted(given(strategy, st.data())(lambda given, data: attempt(folder / "table", given, data)))()


@pytest.mark.parametrize(
    ("name", "content", "rows"),
    [
        ("w.tsv", 'w\tms\n"I\t1\nnow."\t2\n"Y"\t3\n', [['"I', "1"], ['now."', "2"], ['"Y"', "3"]]),
        ("r.tsv", '"w"\t"ms"\n"I"\t1\n"a ""b"""\t2\n', [["I", "1"], ['a "b"', "2"]]),
        ("p.tsv", 'w\tms\n"""I"""\t1\nb\t2\n', [['"I"', "1"], ["b", "2"]]),
        ("q.tsv", 'w\tms\n"I"\t1\nb\t2\n', [['"I"', "1"], ["b", "2"]]),
        ("t.tsv", 'w\tms\n"I\tam"\t1\nb\t2\n', [["I\tam", "1"], ["b", "2"]]),
        ("a.csv", 'w,ms\n"Stop" is it.,1\nb,2\n', [['"Stop" is it.', "1"], ["b", "2"]]),
        ("b.csv", 'w,ms\n"Stop, it is.",1\nb,2\n', [["Stop, it is.", "1"], ["b", "2"]]),
        ("c.csv", "sep=;\nw;ms\na,b;1\n", [["a,b", "1"]]),
        ("D.CSV", "w,ms\na,1,\nb,2,\n", [["a", "1"], ["b", "2"]]),
        ("e.csv", "w, ms\na, 1\n", [["a", "1"]]),
        ("f.csv", "w,ms\na\u2028b\x85c\x0cd,1\n", [["a\u2028b\x85c\x0cd", "1"]]),
        ("g.csv", "w,ms\r\n\r\na,1\rb,2", [["a", "1"], ["b", "2"]]),
    ],
)  # fmt: skip
def test_tables_as_programs_write_them(name, content, rows, tmp_path):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8", newline="")
    frame = read_frame(path)
    assert list(frame.columns) == ["w", "ms"]
    assert frame.to_numpy().tolist() == rows


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.csv", 'w,ms\n"one\ntwo",1\n', r"row 2 runs over the end of its line"),
        ("b.csv", 'w,ms\n"Stop," he said.,1\nb,2\n', r"marks in row 2 quote no field"),
        ("c.tsv", "w\tms\n1\ta\t5\n2\tb\t6\n", r"line 2: 3 fields.*R writes row names"),
        ("h.csv", 'w,ms\n"Stop" is it.,1\n"Go.",2\n', r"marks in row 2 quote no field"),
        ("i.tsv", 'w\tms\n"a ""b"""\t1\n"d"\t2\n', r"may quote the field or be text"),
        ("d.csv", "w;ms\na;1,5\n", r"separated by a semicolon"),
        ("e.csv", "# of May\nw,ms\na,1\n", r"line 2: 2 fields.*title or comment"),
        ("f.csv", "w,ms\n\na,1\nb\n", r"line 4: 1 fields, but the header has 2 \(1 such lines"),
        ("g.tsv", 'w\tms\n"a\tb\t1\nc\t2\n', r"line 2: 3 fields"),
        ("n.csv", "", r"n\.csv: no rows"),
        ("s.csv", "sep=;\n", r"s\.csv: no rows"),
        ("n.csv", "w,ms\na\0b,1\n", r"null characters, so it is damaged"),
        ("m.csv", "w,ms\n\na,1\nw,ms\nb,2\n", r"line 4: the names of the columns again"),
        ("p.csv", "PK\x03\x04", r"is a workbook or a zip archive"),
        ("k.csv", "\ufeff\n<!DOCTYPE html>\n", r"is a web page \(HTML\)"),
        ("j.jsonl", '{"w": "a", "ms": 1, "ms": 2}\n', r"line 1: .* \('ms' occurs twice"),
    ],
)
def test_tables_that_are_refused_with_their_cause(name, content, match, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8", newline="")
    with pytest.raises(LingprobError, match=match):
        read_frame(tmp_path / name)


def test_lost_letters_are_logged(tmp_path, caplog):
    (tmp_path / "a.csv").write_text("w,ms\na,1\nb\ufffd\ufffd,2\n", encoding="utf-8")
    assert len(read_frame(tmp_path / "a.csv")) == 2
    assert "2 letters were lost in a conversion (U+FFFD), the first in line 3." in (caplog.text)


@pytest.mark.parametrize(
    ("letters", "said"),
    [
        ("CafÃ© au lait", "'Ã©' is probably 'é'"),
        ("She canâ€™t.", "'â€™' is probably '’'"),
        ("Ångström costs 3 £ in Â", ""),
        ("«LE CAFÉ»", ""),
        ("Ã É©", ""),
    ],
)
def test_letters_in_a_wrong_encoding_are_named(letters, said, tmp_path, caplog):
    """Text in UTF-8 that was once read as Windows-1252; and text that only has such letters."""
    (tmp_path / "a.csv").write_text(f"sentence\n{letters}\n", encoding="utf-8")
    assert read_frame(tmp_path / "a.csv")["sentence"].tolist() == [letters]
    assert (said in caplog.text) if said else not caplog.text


def test_utf16_and_byte_order_marks(tmp_path):
    for number, encoding in enumerate(("utf-16-le", "utf-16-be", "utf-8")):
        path = tmp_path / f"{number}.csv"
        path.write_text("\ufeffw,ms\né,1\n", encoding=encoding)
        assert read_frame(path).to_numpy().tolist() == [["é", "1"]]


def test_spaces_at_ends_of_a_text_are_kept():
    given = pd.Series([" A cat sat.", "It slept. ", ""])
    found = text_of("a.csv", "sentence", given)
    assert found.tolist()[:2] == [" A cat sat.", "It slept. "]
    assert found.isna().tolist() == [False, False, True]
