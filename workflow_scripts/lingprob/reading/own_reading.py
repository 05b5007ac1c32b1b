"""A user's own tables of reading times and of the texts that were read.

Both tables may be the same file, in which a row has a reader's time on a word, or on a region of
several words. `item` and `condition` name a passage if there is no `passage_id`.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.io.table_files import (
    label_of,
    names_alike,
    need_columns,
    numeric,
    read_frame,
    refuse,
    warn_of_spelling,
    whole,
)
from lingprob.io.text_units import split_words
from lingprob.reading.tables import READER, Source

REMEDY = "docs/own_data.md lists the columns; `columns:` of the data set names those of the file."
SECONDS = 20.0  # no median of reading times in milliseconds is below this
TEXT = ("subject_id", "passage_id", "item", "condition", "word", "text", "sentence")


def own_reading_times(source: Source) -> pd.DataFrame:
    """Return a user's table of reading times, one row per reader and word (see `reading.tables`).

    Its columns are subject_id, word_index, rt_ms, and passage_id or item (with an optional
    condition). An optional `word`, a word or region, is compared with the text later. Means over
    readers need no subject_id.

    Raises LingprobError for negative times, for two means of one word, and if half of a reader's
    times are below SECONDS, because they are then not milliseconds.
    """
    path, is_mean = source.files[0], source.entry.get("unit") == "word"
    frame = _read(path, source.entry, ["subject_id"][is_mean:] + ["word_index", "rt_ms"])
    if is_mean:
        frame["subject_id"] = READER
    refuse(path, "rt_ms", frame["rt_ms"] < 0, "below 0", frame["rt_ms"])
    middle = frame[frame["rt_ms"] > 0].groupby("subject_id")["rt_ms"].median()
    if (low := middle[middle < SECONDS]).size:
        raise LingprobError(
            f"{path}, column 'rt_ms': half of the times of reader {low.index[0]!r} are below "
            f"{low.iloc[0]:g} ms ({len(low)} of {len(middle)} readers). Are they seconds or "
            "logarithms? Write milliseconds, or leave the reader out."
        )
    if is_mean:
        again = frame.duplicated(["passage_id", "word_index"])
        refuse(
            path, "word_index", again, "a second time for one word", frame["word_index"],
            "For readers' own times, set unit: subject.",
        )  # fmt: skip
    return frame.drop(columns=["item", "text", "sentence"], errors="ignore")


def own_passages(path: Path, entry: Mapping[str, Any]) -> pd.DataFrame:
    """Return passage_id, word and sentence_index of a user's table of texts, one row per word.

    A row of the file has a passage (column `text`), or a word or region (column `word`). With a
    column `word_index`, words are sorted by it, and rows of a word may be repeated, as in a file
    with the times of all readers. A sentence begins when the value of `sentence` changes. Without
    this column, sentence_index is None. Passages keep the order of the file.
    """
    frame = _read(path, entry, [])
    if "text" in frame:
        words = frame[["passage_id", "text"]].drop_duplicates()
        twice = words["passage_id"].duplicated().reindex(frame.index, fill_value=False)
        refuse(path, "text", twice, "another text than in an earlier row", frame["text"])
        words = words.assign(word=words["text"].map(split_words)).explode("word")
    else:
        numbers = ["word_index"] if "subject_id" in frame else []  # else readers repeat the text
        need_columns(path, frame, ["word", *numbers], REMEDY)
        words = _in_order(path, entry, frame) if "word_index" in frame else frame
    sentence = None
    if "sentence" in words:
        by_passage = words.groupby("passage_id", sort=False)["sentence"]
        changes = (words["sentence"] != by_passage.shift()).astype(int)
        sentence = changes.groupby(words["passage_id"], sort=False).cumsum() - 1
    return words[["passage_id", "word"]].assign(sentence_index=sentence).reset_index(drop=True)


def _in_order(path: Path, entry: Mapping[str, Any], frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per word: passages in the order of the file, words sorted by `word_index`.

    Raises LingprobError if an index has two words or sentences, or if there are gaps.
    """
    keys = ["passage_id", "word_index"]
    remedy = "If it depends on the condition, name that column in `columns:`."
    for column in [name for name in ("word", "sentence") if name in frame]:
        other = frame[column] != frame.groupby(keys)[column].transform("first")
        said = f"another {column} than in an earlier row"
        refuse(path, column, other, said, frame[column], remedy)
    order = pd.Series(pd.factorize(frame["passage_id"])[0], frame.index)
    words = frame.assign(order=order).drop_duplicates(keys).sort_values(["order", "word_index"])
    expected = words.groupby("order").cumcount()
    if "first_index" not in entry:
        expected += words["word_index"].min()
    gaps = (words["word_index"] != expected).reindex(frame.index, fill_value=False)
    remedy = "Number the words of each passage from the same first number, without gaps."
    refuse(path, "word_index", gaps, "a word before it is missing", frame["word"], remedy)
    return words


def _read(path: Path, entry: Mapping[str, Any], needed: list[str]) -> pd.DataFrame:
    """Return the columns of a user's table under the names of TEXT, word_index and rt_ms.

    word_index counts from 0. passage_id is added from item and condition if the file has none.
    Raises LingprobError if a column of `needed`, or one that the entry names, is absent.
    """
    given = read_frame(path)
    named = dict(entry.get("columns", {}))
    need_columns(path, given, named.values(), REMEDY)
    own = {name: name for name in (*TEXT, "word_index", "rt_ms")} | named
    columns = {name: column for name, column in own.items() if column in given.columns}
    alike = names_alike(given, [name for name in own if name not in columns])
    unread = {name: alike[name] for name in alike if alike[name] not in columns.values()}
    remedy = REMEDY
    if "passage_id" not in columns and "item" not in columns:
        needed = [*needed, "passage_id", "item"]
        remedy = f"`passage_id` or `item` names a passage. {REMEDY}"
    need_columns(path, given, [own[name] for name in needed], remedy)
    warn_of_spelling(path, unread, "To read them, name them in `columns:` of the data set.")
    frame = pd.DataFrame(index=given.index)
    for name in [name for name in TEXT if name in columns]:
        frame[name] = label_of(path, columns[name], given[columns[name]])
        refuse(path, columns[name], frame[name].isna(), "no value")
        frame[name] = frame[name].astype(object)
    first = int(entry.get("first_index", 0))
    if "word_index" in columns:
        column = columns["word_index"]
        frame["word_index"] = whole(path, column, given[column], smallest=first) - first
    if "rt_ms" in columns:
        frame["rt_ms"] = numeric(path, columns["rt_ms"], given[columns["rt_ms"]], nullable=True)
    if "passage_id" not in frame:
        frame["passage_id"] = frame["item"]
        if "condition" in frame:
            frame["passage_id"] += "/" + frame["condition"]
    return frame
