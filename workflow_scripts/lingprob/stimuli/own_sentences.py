"""Parse a user's table of sentences, pairs or judgments, described by an entry in config.yaml."""

import logging
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.io.table_files import (
    as_boolean,
    label_of,
    names_alike,
    need_columns,
    numeric,
    read_frame,
    refuse,
    text_of,
    warn_of_outer_space,
    warn_of_spelling,
)
from lingprob.stats.agreement import standardise_ratings
from lingprob.stimuli.distances import pair_texts
from lingprob.stimuli.tables import NO_RATINGS, SIDES, Entry, Parsed, is_empty

ONCE = (
    "A row is one sentence. Name the `participant` in a column if a row is one judgment or, if two "
    "items share their words, give each an id in a column `item`."
)
IDS = "Give every row an id, or delete the column so that rows are numbered."
ABOUT = ("pair", "phenomenon", "paradigm", "grammatical")
COLUMNS = ("sentence", "rating", "item", "condition", *ABOUT)
# Names that other columns of the user may not have in a `stimuli` table.
TAKEN = {*COLUMNS, *SCHEMAS["stimuli"].names}
# Word processors curl the quotation marks of some copies of a sentence.
STRAIGHT = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")
logger = logging.getLogger(__name__)


def own_sentences(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return the user's table as a `stimuli` table, and single judgments if it has them.

    The table is the file at the entry's `path`, or the rows of a data set on the hub. It has the
    column `sentence` and optionally `rating`, `item`, `condition`, `pair`, `phenomenon`, `paradigm`
    and `grammatical`. With a column `participant`, a row is one judgment. A table with one row per
    pair has `good` and `bad`, and optionally `pair`, `phenomenon` and `paradigm`. Other columns
    are kept (`other_columns`).

    The entry's `columns` gives other names. `scope.stimuli_entry` adds two keys. `ratings` states
    which sentences need ratings: `every`, `some` or `none`. `needed` is that of `check_needed`.
    """
    path = Path(entry["path"]) if "path" in entry else directory / entry["files"][0]["name"]
    setting = f"datasets.{dataset}.columns"
    frame, judgments, label = read_frame(path), None, str(path)
    named = {"sentence": entry.get("column", "sentence"), **entry.get("columns", {})}
    alike = names_alike(frame, ("participant", *COLUMNS))
    unread = {ours: name for ours, name in alike.items() if name not in named.values()}
    participant = named.get("participant", "participant")
    if participant in frame.columns or "participant" in named:
        frame, judgments, entry = average(frame, path, entry, setting)
        label = f"{path}, averaged over participants"
    if "context" in frame.columns:
        logger.warning("%s: the column `context` is not read. Sentences are scored alone.", path)
    stimuli = as_stimuli(frame, label, entry, setting)
    check_needed(stimuli, path, dataset, entry.get("needed", {}))
    warn_of_spelling(path, unread, f"To read them, set {setting}.")
    if judgments is None:
        return stimuli, NO_RATINGS
    ids = stimuli["item_id"].to_numpy()
    ratings = judgments.assign(item_id=ids[judgments["sentence"]]).drop(columns="sentence")
    return stimuli, ratings[["participant_id", "item_id", "rating", "z"]]


def check_needed(
    stimuli: pd.DataFrame, path: Path, dataset: str, needed: Mapping[str, str]
) -> None:
    """Raise LingprobError if a column that a setting's analyses need is absent or incomplete.

    `needed` maps each such column to the setting that lists the data set: `grammatical` (of every
    sentence) or `pair` (of some sentences, one grammatical and one ungrammatical each).
    """
    for column, use in needed.items():
        values = stimuli["pair_id" if column == "pair" else column]
        remedy = f"Complete it (datasets.{dataset}.columns gives its name), or change {use}."
        at_fault = values.isna() & (column == "grammatical" or values.isna().all())
        refuse(path, column, at_fault, f"no value, which {use} needs", remedy=remedy)
    if "pair" in needed:
        pair_texts(stimuli, dataset)


def average(
    frame: pd.DataFrame, path: Path, entry: Mapping[str, Any], setting: str
) -> tuple[pd.DataFrame, pd.DataFrame, Entry]:
    """Average a table of judgments over participants.

    Rows that share sentence (as `comparable`), item and condition are one sentence. Its text is
    that of the first row without white space at the ends, or else of the first row. Its rating is
    the mean of z-scores within participants or, if the entry has `standardise: false`, of the
    ratings as given.

    Returns one row per sentence, with COLUMNS and the other columns that have one value per
    sentence; judgments (participant_id, sentence as the number of its row, rating, z or the rating
    again); and the entry without names of columns. Raises LingprobError that names the row at
    fault.
    """
    named = {"sentence": entry.get("column", "sentence"), **entry.get("columns", {})}
    columns = {key: named.get(key, key) for key in ("participant", *COLUMNS)}
    needed = {**named, **{key: columns[key] for key in ("sentence", "rating")}}
    need_columns(path, frame, needed.values(), f"Set {setting}.")
    others = other_columns(frame, columns.values())
    frame = pd.DataFrame({key: frame[name] for key, name in columns.items() if name in frame})
    texts = label_of(path, columns["sentence"], frame["sentence"])
    same = texts.map(comparable, na_action="ignore")
    labels = [key for key in ("item", "condition", *ABOUT[:3]) if key in frame]
    frame = frame.assign(**{key: label_of(path, columns[key], frame[key]) for key in labels})
    participant = label_of(path, columns["participant"], frame["participant"])
    refuse(path, columns["participant"], participant.isna(), "no participant")
    rating = numeric(path, columns["rating"], frame["rating"], nullable=True)
    rated = rating.notna()
    if not rated.all():
        logger.warning("%s: %d judgments have no rating and are left out", path, (~rated).sum())
    ids = [frame[key] for key in ("item", "condition") if key in frame.columns]
    if "item" in frame.columns:
        other = same.notna() & (same != same.groupby(ids, dropna=False).transform("first"))
        refuse(
            path, columns["sentence"], other, "another sentence than an earlier row of its item",
            texts, "Correct it, or tell the two apart by `item` or `condition`.",
        )  # fmt: skip
    sentence = frame.groupby([same, *ids], sort=False, dropna=False).ngroup()
    for key in (key for key in ABOUT if key in frame.columns):
        values = frame[key].astype(str).fillna("")
        changed = values != values.groupby(sentence).transform("first")
        refuse(path, columns[key], changed, "another value than earlier", frame[key])
    judgments = pd.DataFrame(
        {"participant_id": participant, "sentence": sentence, "rating": rating}
    )[rated]
    again = judgments[["participant_id", "sentence"]].duplicated().reindex(frame.index)
    refuse(
        path, columns["participant"], again.eq(True), "a second judgment of one sentence",
        participant, "Delete it, or tell the two apart by `item` or `condition`.",
    )  # fmt: skip
    standardise = entry.get("standardise", True)
    judgments["z"] = standardise_ratings(judgments) if standardise else judgments["rating"]
    means = judgments.groupby("sentence")["z"].mean()
    sentences = frame.drop(columns="participant").loc[~sentence.duplicated()]
    given = text_of(path, columns["sentence"], frame["sentence"]).fillna("")
    texts = given.groupby(sentence).agg(lambda rows: min(rows, key=lambda row: row != row.strip()))
    means = means.reindex(range(len(sentences)))
    sentences = sentences.assign(sentence=texts.to_numpy(), rating=means.to_numpy())
    constant = others.astype(str).groupby(sentence).nunique().le(1).all()
    sentences = sentences.join(others.loc[:, constant])
    plain = {key: value for key, value in entry.items() if key not in ("column", "columns")}
    return sentences.reset_index(drop=True), judgments, plain


def comparable(text: str) -> str:
    """Return a sentence in NFC with single spaces and straight quotation marks."""
    return " ".join(normalize("NFC", text).translate(STRAIGHT).split())


def as_stimuli(
    frame: pd.DataFrame, path: str | Path, entry: Mapping[str, Any], setting: str
) -> pd.DataFrame:
    """Return a user's table as a `stimuli` table with its other columns.

    Args:
        path: the table's name in messages.
        entry: `columns`, `column`, `ratings`, `language`, `rating_source` and `grammatical` (the
            meaning of two values, such as {"?": False, "ok": True}), if any.
        setting: the setting that gives names of columns, for messages.

    Raises LingprobError that names the row and column at fault.
    """
    wanted = entry.get("ratings", "none")
    named = {"sentence": entry["column"]} if "column" in entry else {}
    named |= entry.get("columns", {})
    frame, named = one_row_per_sentence(path, frame, named, wanted != "none")
    columns = {key: named.get(key, key) for key in COLUMNS}
    must_exist = {"sentence", *named} | (set() if wanted == "none" else {"rating"})
    needed = [column for key, column in columns.items() if key in must_exist]
    need_columns(path, frame, needed, f"Set {setting}.")
    given = {key: frame[column] for key, column in columns.items() if column in frame.columns}
    texts = {
        key: (text_of if key == "sentence" else label_of)(path, columns[key], values)
        for key, values in given.items()
        if key not in ("rating", "grammatical")
    }
    no_pair = texts["pair"].eq("NA").fillna(False) if "pair" in texts else pd.Series(dtype=bool)
    if no_pair.any():
        logger.warning("%s: the pair of %d rows is NA, so they are in none.", path, no_pair.sum())
        texts["pair"] = texts["pair"].mask(no_pair)
    refuse(path, columns["sentence"], is_empty(texts["sentence"]), "an empty sentence")
    warn_of_outer_space(path, columns["sentence"], texts["sentence"])
    rating = grammatical = None
    if "rating" in given:
        rating = numeric(path, columns["rating"], given["rating"], nullable=wanted != "every")
        if wanted == "every" and len(rating) > 1 and rating.nunique() == 1:
            raise LingprobError(
                f"{path}, column {columns['rating']!r}: every rating is {rating[0]:g}, so nothing "
                "can be fitted to them. Is it the right column?"
            )
    if "grammatical" in given:
        meaning = entry.get("grammatical")
        grammatical = as_boolean(path, columns["grammatical"], given["grammatical"], meaning)
    stimuli = pd.DataFrame(
        {
            "item_id": item_ids(path, columns, texts),
            "pair_id": texts.get("pair"),
            "condition": texts.get("condition"),
            "text": texts["sentence"],
            "grammatical": grammatical,
            "rating": rating,
            "rating_source": None if rating is None else entry.get("rating_source", "human"),
            "phenomenon": texts.get("phenomenon"),
            "paradigm": texts.get("paradigm"),
            "language": entry.get("language", "en"),
        }
    )
    return stimuli.join(other_columns(frame, columns.values()))


def other_columns(frame: pd.DataFrame, used: Iterable[str]) -> pd.DataFrame:
    """Return the columns that are not `used`. One with a name in TAKEN is renamed NAME_given."""
    others = frame.drop(columns=[name for name in used if name in frame.columns])
    return others.rename(columns=lambda name: f"{name}_given" if name in TAKEN else name)


def item_ids(
    path: str | Path, columns: Mapping[str, str], texts: Mapping[str, pd.Series]
) -> pd.Series:
    """Return the item ids of the file or, if it has none, row numbers from 1, as text.

    The id of an item under several conditions is ITEM/CONDITION. Raises LingprobError at a missing
    id, an id that occurs twice or, without ids, a repeated sentence.
    """
    if "item" not in texts:
        text = texts["sentence"]
        again = "a sentence that an earlier row has"
        refuse(path, columns["sentence"], text.duplicated(), again, text, ONCE)
        return pd.Series([str(row + 1) for row in range(len(text))], dtype="string")
    ids = texts["item"]
    refuse(path, columns["item"], ids.isna(), "no id", remedy=IDS)
    if "condition" in texts and ids.duplicated().any():
        ids = ids + "/" + texts["condition"].fillna("")
    refuse(path, columns["item"], ids.duplicated(), "an id that an earlier row has", ids, ONCE)
    return ids


def one_row_per_sentence(
    path: str | Path, frame: pd.DataFrame, named: dict[str, str], rated: bool = False
) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a table with one row per sentence, and the names of its columns (`named`).

    A table with one row per pair is turned into one with the items PAIR.good and PAIR.bad, under
    the names of COLUMNS. Pairs without a column `pair` are numbered from 1.
    """
    sides = {side: named.get(side, side) for side in SIDES}
    meant = not {*SIDES}.isdisjoint(named) or {*sides.values()} <= {*frame.columns}
    if not meant or "sentence" in named or "sentence" in frame.columns:
        return frame, named
    need_columns(path, frame, sides.values(), "A row per pair needs both of its sentences.")
    if rated:
        raise LingprobError(
            f"{path}: a row is a pair, and each sentence needs a rating. Give one row per sentence "
            "(`sentence`, `rating`, `pair`, `grammatical`)."
        )
    kept = {key: named.get(key, key) for key in ("pair", "phenomenon", "paradigm")}
    kept = {key: column for key, column in kept.items() if column in frame.columns}
    pair = pd.Series([str(row + 1) for row in range(len(frame))], index=frame.index)
    if "pair" in kept:
        pair = label_of(path, kept["pair"], frame[kept["pair"]])
        refuse(path, kept["pair"], pair.isna() | pair.eq("NA"), "no id", remedy=IDS)
        refuse(path, kept["pair"], pair.duplicated(), "an id that an earlier row has", pair)
    others = other_columns(frame, [*kept.values(), *sides.values()])
    about = {key: frame[column] for key, column in kept.items()} | {"pair": pair, **others}
    tables = []
    for side, column in sides.items():
        refuse(path, column, is_empty(frame[column]), "an empty sentence")
        rows = {"sentence": frame[column], "item": pair + f".{side}", **about}
        tables.append(pd.DataFrame({**rows, "grammatical": side == "good"}))
    return pd.concat(tables).sort_index(kind="stable").reset_index(drop=True), {}
