"""Word surprisals from elsewhere: CSV, TSV, Parquet, or JSON by passage."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.own_tables import need_columns, numeric, read_frame, refuse, text_of, whole
from lingprob.reading.alignment import check_words

logger = logging.getLogger(__name__)

BITS = {"bits": 1.0, "nats": 1 / np.log(2)}
KEYS = ["passage_id", "word_index"]
REMEDY = "docs/own_data.md lists the columns."
SIGN = (
    "Surprisals are 0 or more. If these are log-probabilities, their sign is turned by "
    "`surprisal = -logprob`."
)


def import_word_surprisals(
    path: Path,
    words: pd.DataFrame,
    unit: str = "bits",
    text: str = "",
    texts_in_file: Sequence[str] = (),
) -> pd.DataFrame:
    """Return a `surprisal` table from a file of word surprisals.

    A word may lack its surprisal (NaN, an empty field, null or no row), as first words do without
    a context: it is missing in the result, and the log says how many are.

    Args:
        path: a table (`own_tables.FORMATS`) with passage_id, word_index (from 0), surprisal and, if
            it is to be checked, word; or JSON {passage_id: numbers, possibly in lists by sentence}.
            Other passages than the text's do not count. With a column `text`, only rows of `text`
            do.
        words: the `words` table of the text; every passage must be there.
        unit: `bits` or `nats`.
        text: the text's name.
        texts_in_file: all that the file is said to cover; of several, a column `text` must say
            which row is of which, since their passages may have the same ids.

    Raises LingprobError that names the file and the first row, passage or word at fault: negative
    surprisals, words twice or not in the text, passages without any surprisal.
    """
    if unit not in BITS:
        raise LingprobError(f"{path}: unit {unit!r} is neither 'bits' nor 'nats'.")
    if path.suffix == ".json":
        found, marked = _from_json(path, words), False
    else:
        given = read_frame(path)
        found, marked = _from_table(path, given, words, text), "text" in given.columns
    if len(texts_in_file) > 1 and not marked:
        raise LingprobError(
            f"{path} is the one file of {list(texts_in_file)}, whose passages may have the same "
            "ids. Name each row's text in a column `text`, or give each text its own file: "
            f"`paths: {{{texts_in_file[0]}: ...}}`."
        )
    joined = words[[*KEYS, "word"]].merge(found, on=KEYS, how="left")
    first = joined["word_index"] == 0
    if (joined.loc[first, "surprisal"] == 0).all() and not (joined["surprisal"] == 0).all():
        logger.warning(
            "%s: the first word of each passage has a surprisal of 0, as some programs write for "
            "a word without context; it counts as missing.", path,
        )  # fmt: skip
        joined.loc[first, "surprisal"] = np.nan
    missing = joined["surprisal"].isna()
    refuse_rows(
        missing.groupby(joined["passage_id"]).transform("all")
        & (joined.groupby("passage_id")["word"].transform("size") > 1),
        "{path}: no surprisal in all of passage {passage_id!r}. " + REMEDY,
        joined,
        path=path,
    )
    if missing.all():
        raise LingprobError(f"{path}: no surprisal of any word of the text. {REMEDY}")
    if missing.any():
        first = joined[missing].iloc[0]
        logger.warning(
            "%s: %d of %d words have no surprisal, such as word %d of passage %r (%r)",
            path, missing.sum(), len(joined), first["word_index"], first["passage_id"],
            first["word"],
        )  # fmt: skip
    surprisal = joined["surprisal"] * BITS[unit]
    return joined[KEYS].assign(surprisal=surprisal, surprisal_uncorrected=surprisal, n_tokens=None)


def read_story_json(path: Path) -> dict[str, list[list[float]]]:
    """Return {story: [[surprisal of each word] of each sentence]} of a JSON file, keys as text.

    `null` is NaN. Raises LingprobError if the file is not such JSON.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(story): [[_float(value) for value in part] for part in _parts(values)]
            for story, values in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise LingprobError(
            f"{path}: not JSON of word surprisals by passage ({error}). {REMEDY}"
        ) from error


def _float(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _parts(values: Any) -> list[Any]:
    return values if values and isinstance(values[0], list) else [values]


def _from_json(path: Path, words: pd.DataFrame) -> pd.DataFrame:
    found = pd.DataFrame(_rows(path, words), columns=[*KEYS, "surprisal"])
    found = found.astype({"surprisal": float})
    for at_fault, what in (
        (np.isinf(found["surprisal"]), "an infinite one."),
        (found["surprisal"] < 0, "below 0. " + SIGN),
    ):
        refuse_rows(
            at_fault,
            "{path}: passage {passage_id!r}, word {word_index}: {surprisal}, {what}",
            found,
            path=path,
            what=what,
        )
    return found


def _rows(path: Path, words: pd.DataFrame) -> Iterator[tuple[str, int, float]]:
    stories = read_story_json(path)
    for passage, count in words.groupby("passage_id", sort=False).size().items():
        values = [value for part in stories.get(str(passage), []) for value in part]
        if len(values) != count:
            raise LingprobError(
                f"{path}: passage {passage!r} has {len(values)} surprisals and {count} words. "
                + REMEDY
            )
        for index, value in enumerate(values):
            yield str(passage), index, value


def _from_table(path: Path, given: pd.DataFrame, words: pd.DataFrame, text: str) -> pd.DataFrame:
    need_columns(path, given, [*KEYS, "surprisal"], REMEDY)
    frame = pd.DataFrame(
        {
            "passage_id": text_of(path, "passage_id", given["passage_id"]),
            "word_index": whole(path, "word_index", given["word_index"]),
            "surprisal": numeric(path, "surprisal", given["surprisal"], nullable=True),
        }
    )
    refuse(path, "passage_id", frame["passage_id"].isna(), "no value")
    refuse(path, "surprisal", frame["surprisal"] < 0, "below 0", frame["surprisal"], SIGN)
    if "word" in given.columns:
        frame["word"] = text_of(path, "word", given["word"])
        refuse(path, "word", frame["word"].isna(), "no value")
    if "text" in given.columns:
        frame = frame[text_of(path, "text", given["text"]).eq(text).fillna(False)]
    frame = frame[frame["passage_id"].isin(words["passage_id"])].astype({"passage_id": object})
    refuse_rows(
        frame.duplicated(KEYS),
        "{path}: word {word_index} of passage {passage_id!r} occurs twice. If the file is of "
        "several texts, name each row's in a column `text`, or give each its own file under "
        "`paths`.",
        frame,
        path=path,
    )
    refuse_rows(
        frame.merge(words[KEYS], on=KEYS, how="left", indicator=True)["_merge"] != "both",
        "{path}: a surprisal for word {word_index} of passage {passage_id!r}, which the text does "
        "not have. " + REMEDY,
        frame,
        path=path,
    )
    if "word" in frame.columns:
        check_words(frame, words, str(path), "surprisals")
    return frame[[*KEYS, "surprisal"]]
