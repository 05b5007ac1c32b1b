"""A researcher's own sentences, as a table, by a config entry alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError, nearest
from lingprob.io.own_tables import as_boolean, need_columns, numeric, read_frame, refuse, text_of
from lingprob.stimuli.tables import NO_RATINGS

ONCE = (
    "A row is one sentence: average the judgments of a sentence first, or, if two items share "
    "their words, give each an id in a column `item`."
)
IDS = "Give every row an id, or delete the column and rows are numbered."
# Of a table with a row a pair.
SIDES = {"good", "bad"}
COLUMNS = {"sentence": "sentence", "rating": "rating"}
OPTIONAL = {
    "item": "item",
    "pair": "pair",
    "phenomenon": "phenomenon",
    "paradigm": "paradigm",
    "grammatical": "grammatical",
}


def own_table(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the user's table as stimuli; single judgments are not part of such a table.

    It is the file at the entry's `path`, or the rows of a data set on the hub.

    The columns are `sentence` and, where the file has them, `rating`, `item`, `pair`, `phenomenon`,
    `paradigm` and `grammatical`, or what `columns:` in the entry says instead; of a table with a
    row a pair, `good` and `bad` and, where it has them, `pair`, `phenomenon` and `paradigm`. The
    entry's `ratings` says what the analyses need: `every` rating, `some`, or `none` of them, the
    default.
    """
    path = Path(entry["path"]) if "path" in entry else directory / entry["files"][0]["name"]
    stimuli = as_stimuli(read_frame(path), path, entry, f"datasets.{dataset}.columns")
    return stimuli, NO_RATINGS


def as_stimuli(
    frame: pd.DataFrame, path: str | Path, entry: Mapping[str, Any], setting: str
) -> pd.DataFrame:
    """Return a user's table as a `stimuli` table.

    Args:
        frame: the table, with columns as `parse` has them.
        path: what messages call it.
        entry: `columns`, `column`, `ratings`, `language` and `rating_source`, if any.
        setting: what says which columns are meant, for messages.

    Raises LingprobError that names the row and column at fault.
    """
    wanted = entry.get("ratings", "none")
    named = {"sentence": entry["column"]} if "column" in entry else {}
    named |= entry.get("columns", {})
    frame, named = one_sentence_a_row(path, frame, named)
    columns = {key: named.get(key, default) for key, default in {**COLUMNS, **OPTIONAL}.items()}
    must_exist = {"sentence", *named} | (set() if wanted == "none" else {"rating"})
    for key, column in columns.items():
        if key in must_exist and column not in frame.columns:
            close = nearest(column, map(str, frame.columns), 1)
            raise LingprobError(
                f"{path}: no column {column!r} for `{key}`. The file has {list(frame.columns)}; "
                f"set {setting}.{key}" + (f" to {close[0]!r}?" if close else ".")
            )
    given = {
        key: text_of(path, column, frame[column])
        for key, column in columns.items()
        if key not in ("rating", "grammatical") and column in frame.columns
    }
    text = given["sentence"]
    blank = text.isna() | (text.str.strip() == "")
    refuse(path, columns["sentence"], blank, "an empty sentence")
    rating = grammatical = None
    if columns["rating"] in frame.columns:
        given_ratings = frame[columns["rating"]]
        rating = numeric(path, columns["rating"], given_ratings, nullable=wanted != "every")
        if wanted == "every":
            _check_variation(path, columns["rating"], rating)
    if columns["grammatical"] in frame.columns:
        grammatical = as_boolean(path, columns["grammatical"], frame[columns["grammatical"]])
    if "item" in given:
        item_id = given["item"]
        refuse(path, columns["item"], item_id.isna(), "no id", remedy=IDS)
        seen = item_id.duplicated()
        refuse(path, columns["item"], seen, "an id that an earlier row has", item_id, ONCE)
    else:
        item_id = pd.Series([str(row + 1) for row in range(len(frame))], dtype="string")
        seen = text.duplicated()
        refuse(path, columns["sentence"], seen, "a sentence that an earlier row has", text, ONCE)
    return pd.DataFrame(
        {
            "item_id": item_id,
            "pair_id": given.get("pair"),
            "condition": None,
            "text": text,
            "grammatical": grammatical,
            "rating": rating,
            "rating_source": None if rating is None else entry.get("rating_source", "human"),
            "phenomenon": given.get("phenomenon"),
            "paradigm": given.get("paradigm"),
            "language": entry.get("language", "en"),
        }
    )


def one_sentence_a_row(
    path: str | Path, frame: pd.DataFrame, named: dict[str, str]
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a table and what its columns are named; one with a row a pair as sentences, in ours.

    Items are called PAIR.good and PAIR.bad; pairs without a column `pair` are numbered from 1.
    """
    sides = {side: named.get(side, side) for side in ("good", "bad")}
    meant = not SIDES.isdisjoint(named) or set(sides.values()) <= set(frame.columns)
    if not meant or "sentence" in named or "sentence" in frame.columns:
        return frame, named
    need_columns(path, frame, sides.values(), "A row a pair needs both of its sentences.")
    kept = {key: named.get(key, key) for key in ("pair", "phenomenon", "paradigm")}
    kept = {key: column for key, column in kept.items() if column in frame.columns}
    numbers = pd.Series([str(row + 1) for row in range(len(frame))], index=frame.index)
    pair = text_of(path, kept["pair"], frame[kept["pair"]]) if "pair" in kept else numbers
    refuse(path, kept.get("pair", "pair"), pair.isna(), "no id", remedy=IDS)
    seen = pair.duplicated()
    refuse(path, kept.get("pair", "pair"), seen, "an id that an earlier row has", pair)
    about = {key: frame[column] for key, column in kept.items()} | {"pair": pair}
    tables = []
    for side, column in sides.items():
        blank = frame[column].isna() | (frame[column].astype(str).str.strip() == "")
        refuse(path, column, blank, "an empty sentence")
        rows = {"sentence": frame[column], "item": pair + f".{side}", **about}
        tables.append(pd.DataFrame({**rows, "grammatical": side == "good"}))
    return pd.concat(tables).sort_index(kind="stable").reset_index(drop=True), {}


def _check_variation(path: str | Path, column: str, rating: pd.Series) -> None:
    """Refuse ratings that could not be fitted, before anything is scored for them."""
    if len(rating) > 1 and rating.nunique() == 1:
        raise LingprobError(
            f"{path}, column {column!r}: every rating is {rating[0]:g}, so nothing can be fitted "
            "to them. Is it the right column?"
        )
