"""Read word surprisals that another program computed: CSV, TSV, Parquet, Excel or JSON."""

import json
import logging
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, looked_up, refuse_rows
from lingprob.io.table_files import (
    each_once,
    label_of,
    need_columns,
    numeric,
    read_frame,
    refuse,
    whole,
)
from lingprob.io.text_tables import decoded
from lingprob.reading.tables import KEYS, check_words

logger = logging.getLogger(__name__)

BITS = {"bits": 1.0, "nats": 1 / np.log(2)}
REMEDY = "docs/own_data.md lists the columns."
BY_TEXT = "Name each row's text in a column `text`, or give each text its own file under `paths`."


def import_word_surprisals(
    path: Path,
    words: pd.DataFrame,
    unit: str = "bits",
    text: str = "",
    texts_in_file: Sequence[str] = (),
) -> pd.DataFrame:
    """Return a `surprisal` table (bits) with one row per word of a text, read from a file.

    A word may lack a surprisal (NaN, an empty field, null or no row), as the first word of a
    passage often does. The result has NaN for it, and a warning counts such words.

    Args:
        path: a table (`table_files.FORMATS`) with the columns passage_id, word_index (from 0) and
            surprisal, and optionally word (compared with the text) and text (only rows equal to the
            argument `text` are read). Or JSON {passage_id: surprisals}, in which the surprisals may
            be in one list per sentence. Passages that `words` lacks are ignored.
        words: the `words` table of the text, whose passages must all be in the file.
        unit: unit of the file's surprisals, `bits` or `nats`.
        text, texts_in_file: names of the text, and of all texts in the file. If there are several,
            the file must have a column `text`, because their passages may have the same ids.

    Raises LingprobError for a negative surprisal, a word that occurs twice or is not in the text,
    and a passage without any surprisal.
    """
    factor = looked_up("unit", unit, BITS, f"({path})")
    given = None if path.suffix.lower() == ".json" else read_frame(path)
    if len(texts_in_file) > 1 and (given is None or "text" not in given.columns):
        raise LingprobError(
            f"{path} is the one file of {list(texts_in_file)}, whose passages may have the same "
            f"ids. {BY_TEXT}"
        )
    found = _from_json(path, words) if given is None else _from_table(path, given, words, text)
    refuse_rows(
        np.isinf(found["surprisal"]) | (found["surprisal"] < 0),
        "{path}: passage {passage_id!r}, word {word_index}: {surprisal}, below 0 or infinite. If "
        "these are log-probabilities, turn their sign: `surprisal = -logprob`.",
        found,
        path=path,
    )
    joined = words[[*KEYS, "word"]].merge(found, on=KEYS, how="left")
    for part, keys in (("sentence", ["passage_id", "sentence_index"]), ("passage", ["passage_id"])):
        values, first = joined["surprisal"], ~words.duplicated(keys).to_numpy()
        if values[first].notna().any() and not values[first].any() and values.any():
            logger.warning(
                "%s: the first word of each %s has a surprisal of 0, as some programs write for a "
                "word without context; it counts as missing.", path, part,
            )  # fmt: skip
            joined.loc[first, "surprisal"] = np.nan
    _check_missing(path, joined)
    surprisal = joined["surprisal"] * factor
    return joined[KEYS].assign(surprisal=surprisal, surprisal_uncorrected=surprisal, n_tokens=None)


def _check_missing(path: Path, joined: pd.DataFrame) -> None:
    """Log missing surprisals. Raise LingprobError if a passage of several words has none."""
    missing = joined["surprisal"].isna()
    by_passage = missing.groupby(joined["passage_id"])
    refuse_rows(
        by_passage.transform("all") & (by_passage.transform("size") > 1),
        "{path}: no surprisal in all of passage {passage_id!r}. " + REMEDY,
        joined,
        path=path,
    )
    if missing.all():
        raise LingprobError(f"{path}: no surprisal of any word of the text. {REMEDY}")
    if missing.any():
        logger.warning(
            "%s: %d of %d words have no surprisal, such as word %d of passage %r (%r)", path,
            missing.sum(), len(joined), *joined.loc[missing, [*KEYS[::-1], "word"]].iloc[0],
        )  # fmt: skip


def read_story_json(path: Path) -> dict[str, list[list[float]]]:
    """Return {story: [[surprisal of each word] of each sentence]} of a JSON file, keys as text.

    `null` is NaN. Raises LingprobError if the file is not such JSON, or has a story twice.
    """
    try:
        content = json.loads(decoded(path), object_pairs_hook=each_once)
        return {
            str(story): [[_float(value) for value in part] for part in _parts(values)]
            for story, values in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise LingprobError(
            f"{path}: not JSON of word surprisals by passage ({error}). {REMEDY}"
        ) from error


def _float(value: Any) -> float:
    if isinstance(value, bool):
        raise TypeError(f"{value} is no number")
    return float("nan") if value is None else float(value)


def _parts(values: Any) -> list[Any]:
    if not isinstance(values, list):
        raise TypeError(f"{values!r:.40} is no list of numbers")
    return values if values and isinstance(values[0], list) else [values]


def _from_json(path: Path, words: pd.DataFrame) -> pd.DataFrame:
    """Return passage_id, word_index and surprisal of all passages of `words` from a JSON file."""
    stories = read_story_json(path)
    parts = []
    for passage, part in words.groupby("passage_id", sort=False):
        values = list(chain.from_iterable(stories.get(str(passage), [])))
        if len(values) != len(part):
            said = f"passage {passage!r} has {len(values)} surprisals and {len(part)} words"
            raise LingprobError(f"{path}: {said}. {REMEDY}")
        parts.append(part[KEYS].assign(surprisal=np.array(values, dtype=float)))
    return pd.concat(parts, ignore_index=True)


def _from_table(path: Path, given: pd.DataFrame, words: pd.DataFrame, text: str) -> pd.DataFrame:
    """Return passage_id, word_index and surprisal of those rows of a file that are of one text."""
    need_columns(path, given, [*KEYS, "surprisal"], REMEDY)
    frame = pd.DataFrame(
        {
            "passage_id": label_of(path, "passage_id", given["passage_id"]),
            "word_index": whole(path, "word_index", given["word_index"]),
            "surprisal": numeric(path, "surprisal", given["surprisal"], nullable=True),
        }
    )
    if "word" in given.columns:
        frame["word"] = label_of(path, "word", given["word"])
    for column in {"passage_id", "word"} & set(frame.columns):
        refuse(path, column, frame[column].isna(), "no value")
    if "text" in given.columns:
        frame = frame[label_of(path, "text", given["text"]).eq(text).fillna(False)]
    frame = frame[frame["passage_id"].isin(words["passage_id"])].astype({"passage_id": object})
    refuse_rows(
        frame.duplicated(KEYS),
        "{path}: word {word_index} of passage {passage_id!r} occurs twice. If the file is of "
        "several texts: " + BY_TEXT,
        frame,
        path=path,
    )
    refuse_rows(
        frame.merge(words[KEYS], on=KEYS, how="left", indicator=True)["_merge"] != "both",
        "{path}: a surprisal for word {word_index} of passage {passage_id!r}, which the text does "
        "not have. Words are numbered from 0. " + REMEDY,
        frame,
        path=path,
    )
    if "word" in frame.columns:
        check_words(frame, words, str(path), "surprisals")
    return frame[[*KEYS, "surprisal"]]
