"""A researcher's own sentences, as a table, by a config entry alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError, nearest
from lingprob.io.own_tables import as_boolean, need_columns, numeric, read_frame, refuse, text_of
from lingprob.stimuli.tables import NO_RATINGS, SIDES, Entry, Parsed

ONCE = (
    "A row is one sentence. Average the judgments of a sentence first or, if two items share "
    "their words, give each an id in a column `item`."
)
IDS = "Give every row an id, or delete the column so that rows are numbered."
COLUMNS = ("sentence", "rating", "item", "pair", "phenomenon", "paradigm", "grammatical")


def own_table(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the user's table as stimuli, without single judgments.

    It is the file at the entry's `path`, or the rows of a data set on the hub. The columns are
    `sentence` and, if the file has them, `rating`, `item`, `pair`, `phenomenon`, `paradigm` and
    `grammatical`. A table with one row per pair has `good` and `bad` and, if it has them, `pair`,
    `phenomenon` and `paradigm`. The entry's `columns` gives other names. Its `ratings` says which
    the analyses need: `every` rating, `some`, or `none` of them, the default.
    """
    path = Path(entry["path"]) if "path" in entry else directory / entry["files"][0]["name"]
    return as_stimuli(read_frame(path), path, entry, f"datasets.{dataset}.columns"), NO_RATINGS


def as_stimuli(
    frame: pd.DataFrame, path: str | Path, entry: Mapping[str, Any], setting: str
) -> pd.DataFrame:
    """Return a user's table as a `stimuli` table.

    Args:
        frame: the table.
        path: its name in messages.
        entry: `columns`, `column`, `ratings`, `language` and `rating_source`, if any.
        setting: the setting that gives names of columns, for messages.

    Raises LingprobError that names the row and column at fault.
    """
    wanted = entry.get("ratings", "none")
    named = {"sentence": entry["column"]} if "column" in entry else {}
    named |= entry.get("columns", {})
    frame, named = one_row_per_sentence(path, frame, named)
    columns = {key: named.get(key, key) for key in COLUMNS}
    must_exist = {"sentence", *named} | (set() if wanted == "none" else {"rating"})
    for key, column in columns.items():
        if key in must_exist and column not in frame.columns:
            close = nearest(column, map(str, frame.columns), 1)
            raise LingprobError(
                f"{path}: no column {column!r} for `{key}`. The file has {list(frame.columns)}. "
                f"Set {setting}.{key}" + (f" to {close[0]!r}?" if close else ".")
            )
    given = {key: frame[column] for key, column in columns.items() if column in frame.columns}
    texts = {
        key: text_of(path, columns[key], values)
        for key, values in given.items()
        if key not in ("rating", "grammatical")
    }
    refuse(path, columns["sentence"], is_empty(texts["sentence"]), "an empty sentence")
    rating = grammatical = None
    if "rating" in given:
        rating = numeric(path, columns["rating"], given["rating"], nullable=wanted != "every")
        if wanted == "every" and len(rating) > 1 and rating.nunique() == 1:
            raise LingprobError(
                f"{path}, column {columns['rating']!r}: every rating is {rating[0]:g}, so nothing "
                "can be fitted to them. Is it the right column?"
            )
    if "grammatical" in given:
        grammatical = as_boolean(path, columns["grammatical"], given["grammatical"])
    return pd.DataFrame(
        {
            "item_id": item_ids(path, columns, texts),
            "pair_id": texts.get("pair"),
            "condition": None,
            "text": texts["sentence"],
            "grammatical": grammatical,
            "rating": rating,
            "rating_source": None if rating is None else entry.get("rating_source", "human"),
            "phenomenon": texts.get("phenomenon"),
            "paradigm": texts.get("paradigm"),
            "language": entry.get("language", "en"),
        }
    )


def is_empty(texts: pd.Series) -> pd.Series:
    """Say which texts are missing or white space alone."""
    return texts.isna() | (texts.astype(str).str.strip() == "")


def item_ids(
    path: str | Path, columns: Mapping[str, str], texts: Mapping[str, pd.Series]
) -> pd.Series:
    """Return the ids that the file gives, or numbers from 1.

    Raises LingprobError at a missing id or an id that occurs twice, or at a sentence that does if
    there are no ids.
    """
    if "item" in texts:
        ids = texts["item"]
        refuse(path, columns["item"], ids.isna(), "no id", remedy=IDS)
        refuse(path, columns["item"], ids.duplicated(), "an id that an earlier row has", ids, ONCE)
        return ids
    text = texts["sentence"]
    again = "a sentence that an earlier row has"
    refuse(path, columns["sentence"], text.duplicated(), again, text, ONCE)
    return pd.Series([str(row + 1) for row in range(len(text))], dtype="string")


def one_row_per_sentence(
    path: str | Path, frame: pd.DataFrame, named: dict[str, str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a table with one row per sentence, and the given names of its columns.

    The sentences of a table with one row per pair are called PAIR.good and PAIR.bad. Pairs without
    a column `pair` are numbered from 1.
    """
    sides = {side: named.get(side, side) for side in SIDES}
    meant = not {*SIDES}.isdisjoint(named) or {*sides.values()} <= {*frame.columns}
    if not meant or "sentence" in named or "sentence" in frame.columns:
        return frame, named
    need_columns(path, frame, sides.values(), "A row per pair needs both of its sentences.")
    kept = {key: named.get(key, key) for key in ("pair", "phenomenon", "paradigm")}
    kept = {key: column for key, column in kept.items() if column in frame.columns}
    pair = pd.Series([str(row + 1) for row in range(len(frame))], index=frame.index)
    if "pair" in kept:
        pair = text_of(path, kept["pair"], frame[kept["pair"]])
        refuse(path, kept["pair"], pair.isna(), "no id", remedy=IDS)
        refuse(path, kept["pair"], pair.duplicated(), "an id that an earlier row has", pair)
    about = {key: frame[column] for key, column in kept.items()} | {"pair": pair}
    tables = []
    for side, column in sides.items():
        refuse(path, column, is_empty(frame[column]), "an empty sentence")
        rows = {"sentence": frame[column], "item": pair + f".{side}", **about}
        tables.append(pd.DataFrame({**rows, "grammatical": side == "good"}))
    return pd.concat(tables).sort_index(kind="stable").reset_index(drop=True), {}
