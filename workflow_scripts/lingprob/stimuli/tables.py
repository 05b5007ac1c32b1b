"""Stimulus tables: how files of them are read, and what each must satisfy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.schemas import SCHEMAS

NO_RATINGS = SCHEMAS["ratings"].empty_table().to_pandas()


def check_stimuli(stimuli: pd.DataFrame, dataset: str) -> None:
    """Raise LingprobError if a table is empty, an id occurs twice or a sentence is blank."""
    where = f"data set {dataset!r}"
    if stimuli.empty:
        raise LingprobError(f"{where}: no sentences.")
    twice = stimuli["item_id"].duplicated(keep=False)
    if twice.any():
        first = stimuli.loc[twice, "item_id"].iloc[0]
        rows = (stimuli.index[stimuli["item_id"] == first] + 1).tolist()
        raise LingprobError(
            f"{where}: item id {first!r} occurs in rows {rows}; ids must differ. Rename one, or "
            "leave the `item` column out and rows are numbered."
        )
    refuse_rows(
        stimuli["text"].isna() | (stimuli["text"].str.strip() == ""),
        "{where}, item {item_id!r}: empty sentence. Delete or complete the row.",
        stimuli,
        where=where,
    )


def two_sentences_a_pair(pairs: pd.DataFrame) -> pd.DataFrame:
    """Turn a pair a row into a sentence a row, the acceptable one of each pair first.

    `pairs` has the columns pair_id, phenomenon, paradigm and, for each of `good` and `bad`,
    PREFIX_id, PREFIX_text and PREFIX_rating. Returns a `stimuli` table without language,
    rating_source filled in.
    """
    sides = []
    for side, grammatical in (("good", True), ("bad", False)):
        sides.append(
            pd.DataFrame(
                {
                    "item_id": pairs[f"{side}_id"],
                    "pair_id": pairs["pair_id"],
                    "condition": side,
                    "text": pairs[f"{side}_text"],
                    "grammatical": grammatical,
                    "rating": pairs[f"{side}_rating"],
                    "phenomenon": pairs["phenomenon"],
                    "paradigm": pairs["paradigm"],
                }
            )
        )
    both = pd.concat(sides)
    return both.sort_index(kind="stable").reset_index(drop=True)


def read_csv_utf8(path: Path, **options: Any) -> pd.DataFrame:
    """Read a CSV file in UTF-8, with or without a byte-order mark; `options` go to pandas.

    Raises LingprobError that names a file in another encoding or that is no table.
    """
    try:
        return pd.read_csv(path, encoding="utf-8-sig", **options)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise LingprobError(f"{path}: not a CSV file in UTF-8 ({error}). Convert it.") from error


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file; raise LingprobError that names a line that is not."""
    try:
        return path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise LingprobError(
            f"{path}, line {line}: not UTF-8 text. Convert the file, for instance with iconv, or "
            "fetch it again."
        ) from error
