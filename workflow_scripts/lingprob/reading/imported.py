"""Word surprisals from elsewhere: CSV, TSV, Parquet, or JSON by passage."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.reading.alignment import check_words
from lingprob.stimuli.user_table import numeric, read_frame

BITS = {"bits": 1.0, "nats": 1 / np.log(2)}
REMEDY = "README.md, `Your own reading times and surprisals`, lists the columns."


def import_word_surprisals(path: Path, words: pd.DataFrame, unit: str = "bits") -> pd.DataFrame:
    """Return a `surprisal` table from a file of word surprisals.

    Args:
        path: CSV, TSV or Parquet with passage_id, word_index (from 0), surprisal and, if it is to
            be checked, word; or JSON {passage_id: numbers, possibly in lists by sentence}. Other
            passages than the text's do not count.
        words: the `words` table of the text; every word must be covered.
        unit: `bits` or `nats`.

    Raises LingprobError that names the file and the first passage or word at fault.
    """
    if unit not in BITS:
        raise LingprobError(f"{path}: unit {unit!r} is neither 'bits' nor 'nats'.")
    found = _from_json(path, words) if path.suffix == ".json" else _from_table(path, words)
    keys = ["passage_id", "word_index"]
    joined = words[keys + ["word"]].merge(found, on=keys, how="left")
    absent = joined["surprisal"].isna()
    if absent.any():
        row = joined[absent].iloc[0]
        raise LingprobError(
            f"{path}: no surprisal for word {row['word_index']} of passage {row['passage_id']!r} "
            f"({row['word']!r}), nor for {absent.sum() - 1} more. {REMEDY}"
        )
    surprisal = joined["surprisal"] * BITS[unit]
    return joined[keys].assign(surprisal=surprisal, surprisal_uncorrected=surprisal, n_tokens=None)


def read_story_json(path: Path) -> dict[str, list[list[float]]]:
    """Return {story: [[surprisal of each word] of each sentence]} of a JSON file, keys as text.

    Raises LingprobError if the file is not such JSON.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            str(story): [list(map(float, part)) for part in _parts(values)]
            for story, values in content.items()
        }
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise LingprobError(
            f"{path}: not JSON of word surprisals by passage ({error}). {REMEDY}"
        ) from error


def _parts(values: Any) -> list[Any]:
    return values if values and isinstance(values[0], list) else [values]


def _from_json(path: Path, words: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        _rows(path, words), columns=["passage_id", "word_index", "surprisal"]
    ).astype({"surprisal": float})


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
            if not np.isfinite(value):
                raise LingprobError(f"{path}: passage {passage!r}, word {index}: {value}. {REMEDY}")
            yield str(passage), index, value


def _from_table(path: Path, words: pd.DataFrame) -> pd.DataFrame:
    frame = read_frame(path, text=("passage_id", "word"))
    missing = [c for c in ("passage_id", "word_index", "surprisal") if c not in frame.columns]
    if missing:
        raise LingprobError(f"{path}: no columns {missing}. {REMEDY}")
    frame["passage_id"] = frame["passage_id"].astype(str)
    for column in ("word_index", "surprisal"):
        frame[column] = numeric(path, column, frame[column])
    fractional = frame["word_index"] != frame["word_index"].round()
    if fractional.any():
        row = int(fractional.to_numpy().argmax())
        raise LingprobError(
            f"{path}, data row {row + 1}: word_index {frame['word_index'].iloc[row]:g} is no whole "
            f"number. {REMEDY}"
        )
    frame["word_index"] = frame["word_index"].astype(int)
    frame = frame[frame["passage_id"].isin(words["passage_id"])]
    keys = ["passage_id", "word_index"]
    if frame.duplicated(keys).any():
        row = frame[frame.duplicated(keys)].iloc[0]
        raise LingprobError(
            f"{path}: word {row['word_index']} of passage {row['passage_id']!r} occurs twice. "
            + REMEDY
        )
    beyond = frame.merge(words[keys], on=keys, how="left", indicator=True)["_merge"] != "both"
    if beyond.any():
        row = frame[beyond.to_numpy()].iloc[0]
        raise LingprobError(
            f"{path}: a surprisal for word {row['word_index']} of passage {row['passage_id']!r}, "
            f"which the text does not have. {REMEDY}"
        )
    if "word" in frame.columns:
        check_words(frame, words, str(path), "surprisals")
    return frame[[*keys, "surprisal"]]
