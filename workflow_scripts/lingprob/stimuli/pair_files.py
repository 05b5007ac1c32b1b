"""Files of minimal pairs: reading them, and what every such data set has in common."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli.checks import two_sentences_a_pair


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


def read_json_pairs(path: Path, *, phenomenon: str) -> pd.DataFrame:
    """Read a JSON-lines file of one paradigm, a pair a line: sentence_good, sentence_bad, a number.

    `phenomenon` is the key that names the phenomenon; the paradigm is the file's name. Returns a
    pair a row for `pairs_as_stimuli`.
    """
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise LingprobError(
                f"{path}, line {number}: not JSON ({error}). Fetch the file again."
            ) from error
        rows.append(
            {
                "good": member(record, "sentence_good", path, number),
                "bad": member(record, "sentence_bad", path, number),
                "phenomenon": member(record, phenomenon, path, number),
                "paradigm": path.stem,
                "number": number - 1,
            }
        )
    return pd.DataFrame(rows)


def member(record: dict[str, Any], key: str, path: Path, line: int) -> str:
    """Return a text of a pair; raise LingprobError if it is absent or blank."""
    value = record.get(key)
    if not isinstance(value, str) or not value.strip():
        raise LingprobError(
            f"{path}, line {line}: no {key!r} (it has {sorted(record)}). A pair needs both of its "
            "sentences: complete or delete the line."
        )
    return value


def pairs_as_stimuli(paradigms: Iterable[pd.DataFrame], language: str) -> pd.DataFrame:
    """Turn tables with a pair a row into a `stimuli` table without ratings.

    The columns are good, bad, phenomenon, paradigm and number, the pair's place in its paradigm.
    Pairs of identical sentences stay: they were published, and analyses count them.
    """
    pairs = pd.concat(paradigms, ignore_index=True)
    pair_id = pairs["paradigm"] + "." + pairs["number"].astype(str)
    return two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pair_id,
                "phenomenon": pairs["phenomenon"],
                "paradigm": pairs["paradigm"],
                "good_id": pair_id + ".good",
                "good_text": pairs["good"],
                "good_rating": np.nan,
                "bad_id": pair_id + ".bad",
                "bad_text": pairs["bad"],
                "bad_rating": np.nan,
            }
        )
    ).assign(language=language, rating_source=None)
