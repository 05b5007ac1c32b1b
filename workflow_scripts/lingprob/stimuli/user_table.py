"""A researcher's own sentences, as CSV, TSV or Parquet, by a config entry alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError, nearest
from lingprob.stimuli.checks import NO_RATINGS

ONCE = (
    "A row is one sentence: average the judgments of a sentence first, or, if two items share "
    "their words, give each an id in a column `item`."
)
COLUMNS = {"sentence": "sentence", "rating": "rating"}
OPTIONAL = {
    "item": "item",
    "pair": "pair",
    "phenomenon": "phenomenon",
    "paradigm": "paradigm",
    "grammatical": "grammatical",
}


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the user's table as stimuli; single judgments are not part of such a table.

    The columns are `sentence` and, where the file has them, `rating`, `item`, `pair`, `phenomenon`,
    `paradigm` and `grammatical`, or what `columns:` in the entry says instead. The entry's
    `ratings` says what the analyses need: `every` rating, `some`, or `none` of them, the default.
    """
    wanted = entry.get("ratings", "none")
    path = Path(entry["path"])
    frame = read_frame(path)
    named = entry.get("columns", {})
    columns = {key: named.get(key, default) for key, default in {**COLUMNS, **OPTIONAL}.items()}
    must_exist = {"sentence", *named} | (set() if wanted == "none" else {"rating"})
    for key, column in columns.items():
        if key in must_exist and column not in frame.columns:
            close = nearest(column, map(str, frame.columns), 1)
            raise LingprobError(
                f"{path}: no column {column!r} for `{key}`. The file has {list(frame.columns)}; "
                f"set datasets.{dataset}.columns.{key}" + (f" to {close[0]!r}?" if close else ".")
            )
    text = frame[columns["sentence"]].astype("string")
    _refuse(path, columns["sentence"], text.isna() | (text.str.strip() == ""), "an empty sentence")
    optional = {
        key: frame[columns[key]].astype("string") if columns[key] in frame.columns else None
        for key in OPTIONAL
    }
    rating = (
        numeric(path, columns["rating"], frame[columns["rating"]], nullable=wanted != "every")
        if columns["rating"] in frame.columns
        else None
    )
    numbered = pd.Series([str(row + 1) for row in range(len(frame))], dtype="string")
    item_id = numbered if optional["item"] is None else optional["item"]
    _refuse(
        path, columns["item"], item_id.duplicated(), "an id that an earlier row has", remedy=ONCE
    )
    if optional["item"] is None:
        seen = text.duplicated()
        _refuse(path, columns["sentence"], seen, "a sentence that an earlier row has", remedy=ONCE)
    stimuli = pd.DataFrame(
        {
            "item_id": item_id,
            "pair_id": optional["pair"],
            "condition": None,
            "text": text,
            "grammatical": as_boolean(path, columns["grammatical"], optional["grammatical"]),
            "rating": rating,
            "rating_source": None if rating is None else entry.get("rating_source", "human"),
            "phenomenon": optional["phenomenon"],
            "paradigm": optional["paradigm"],
            "language": entry.get("language", "en"),
        }
    )
    return stimuli, NO_RATINGS


def read_frame(path: Path, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a CSV, TSV or Parquet file; raise LingprobError if it is absent, empty or neither.

    Columns `text`, where the file has them, are text as it stands: '01' and 'NA' are no numbers.
    """
    readers = {".csv": ",", ".tsv": "\t"}
    try:
        if path.suffix == ".parquet":
            frame = pd.read_parquet(path)
        elif path.suffix in readers:
            separator = readers[path.suffix]
            frame = pd.read_csv(path, sep=separator, dtype_backend="numpy_nullable")
            for column in set(text) & set(frame.columns):
                frame[column] = pd.read_csv(
                    path, sep=separator, usecols=[column], dtype=str, keep_default_na=False,
                )[column]  # fmt: skip
        else:
            raise LingprobError(f"{path}: neither .csv, .tsv nor .parquet. Rename or convert it.")
    except FileNotFoundError as error:
        raise LingprobError(
            f"{path}: no such file. Paths are relative to the working directory of Snakemake."
        ) from error
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError, OSError) as error:
        raise LingprobError(f"{path}: cannot be read as a table ({error}).") from error
    if frame.empty:
        raise LingprobError(f"{path}: no rows. It must have a header line and a row a sentence.")
    return frame


def numeric(path: Path, column: str, values: pd.Series, nullable: bool = False) -> pd.Series:
    """Return a column as float64; raise LingprobError that names the first row that is none.

    Where it is `nullable`, a missing value is NaN.
    """
    numbers = pd.to_numeric(values, errors="coerce").astype("Float64").astype("float64")
    missing = values.isna()
    if not nullable:
        _refuse(path, column, missing, "no value (missing or NaN)")
    _refuse(path, column, numbers.isna() & ~missing, "not a number", values)
    _refuse(path, column, numbers.abs() == float("inf"), "infinite")
    return numbers


def as_boolean(path: Path, column: str, values: pd.Series | None) -> pd.Series | None:
    """Return a column of true/false, 1/0 or yes/no as booleans."""
    if values is None:
        return None
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    mapped = values.str.lower().map(known)
    _refuse(path, column, mapped.isna() & values.notna(), "neither true nor false", values)
    return mapped.astype("boolean")


def _refuse(
    path: Path,
    column: str,
    at_fault: pd.Series,
    what: str,
    values: pd.Series | None = None,
    remedy: str = "Correct or delete the row.",
) -> None:
    at_fault = at_fault.fillna(False).astype(bool).reset_index(drop=True)
    if at_fault.any():
        row = int(at_fault.to_numpy().argmax())
        shown = "" if values is None else f": {values.iloc[row]!r}"
        raise LingprobError(
            f"{path}, data row {row + 1}, column {column!r}: {what}{shown} "
            f"({int(at_fault.sum())} such rows). {remedy}"
        )
