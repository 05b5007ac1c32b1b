"""Reading times of every corpus as one table: who read which word for how long, and its use.

Each data set of kind `reading_times` names the text that was read (`texts`), how it was read
(`method`: self_paced or eye_tracking, which decides what is excluded and the regression), and
whether a row is a reader's or a mean over readers (`unit`). Exclusions are those of leakage,
Appendix B.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.parsers import import_parser, reading_times_parser
from lingprob.reading.alignment import check_numbers, check_words
from lingprob.reading.tables import Source

COLUMNS = [
    "subject_id", "passage_id", "word_index", "rt_ms", "previous_fixated", "excluded", "partition",
]  # fmt: skip
OWN_TABLE = "reading_times_table"  # the parser of a user's own table
# The sum of the numbers of subject and sentence modulo 4 (leakage, Appendix B).
PARTITIONS = ("fit", "fit", "exploratory", "held_out")
# In this order: of several reasons, the first is given.
SELF_PACED = ("missing", "comprehension", "sentence_boundary", "too_short", "too_long")
EYE_TRACKING = ("unfixated", "saccade", "sentence_boundary", "line_or_screen_boundary")


def build_reading_times(
    corpus: str,
    entry: dict[str, Any],
    words: pd.DataFrame,
    files: Sequence[Path],
    *,
    min_ms: float = 100,
    max_ms: float = 3000,
    max_saccade: int = 4,
    min_correct: int = 5,
    seed: int = 0,
) -> pd.DataFrame:
    """Parse a corpus's reading times, say which are excluded, and part the rest.

    Args:
        corpus: name in the catalog or in config.yaml.
        entry: its entry; `subjects` is the expected number of readers.
        words: the `words` table of its text.
        files: its files.
        min_ms, max_ms: of a self-paced reading time (paper: 100 to 3,000 ms).
        max_saccade: words of the saccade before a fixation (paper: 4).
        min_correct: comprehension questions answered right (paper: more than four).
        seed: of simulated times.

    Returns:
        A `reading_times` table, a row a reader and word, excluded ones included.

    Raises LingprobError that names file, passage and word for times that are not numbers or do not
    fit the text, and if all are excluded or a partition is empty.
    """
    parse = load_parser(corpus, entry["parser"])
    for path in files:
        if not path.is_file():
            raise LingprobError(f"{path}: no such file of reading times. See datasets.{corpus}.")
    times = parse(Source(files, words, entry, seed))
    _check(times, corpus, entry)
    if "word" in times:
        check_words(times, words, f"data set {corpus!r}")
    elif entry["parser"] == OWN_TABLE:
        check_numbers(times, words, f"data set {corpus!r}")
    place = words.assign(boundary=sentence_boundaries(words), sentence=sentence_numbers(words))[
        ["passage_id", "word_index", "boundary", "sentence"]
    ]
    times = times.merge(place, on=["passage_id", "word_index"], how="left")
    refuse_rows(
        times["boundary"].isna(),
        "data set {corpus!r}: subject {subject_id!r} has a reading time for word {word_index} of "
        "passage {passage_id!r}, which the text does not have, as have {count} rows. Number "
        "passages and words as the text's.",
        times,
        corpus=corpus,
    )
    boundary = times["boundary"].to_numpy(bool)
    if entry["method"] == "eye_tracking":
        if "saccade" not in times:
            times["previous_fixated"], times["saccade"] = saccades(times)
        reason = eye_tracking_reason(times, boundary, max_saccade)
    else:
        reason = self_paced_reason(times, boundary, min_ms, max_ms, min_correct)
    times["excluded"] = reason
    if entry["method"] != "eye_tracking" or entry["unit"] == "word":
        times["previous_fixated"] = None
    times["rt_ms"] = times["rt_ms"].where(times["rt_ms"].notna(), None)
    times["partition"] = partitions(times).where(times["excluded"].isna(), None)
    _check_partitions(times, corpus)
    return times[COLUMNS]


def load_parser(corpus: str, parser: str) -> Callable[[Source], pd.DataFrame]:
    """Return a data set's parser, by its name. Raises LingprobError if there is none."""
    return import_parser(reading_times_parser(corpus, parser))


def partitions(times: pd.DataFrame) -> pd.Series:
    """Return the partition of each row: (subject + sentence) mod 4 is 0, 1: fit, 2: exploratory.

    Subjects are numbered from 0 in the order of their names (as numbers, where they are), and
    sentences from 0 through all passages (column `sentence`).
    """
    names = sorted(times["subject_id"].unique(), key=_natural)
    number = times["subject_id"].map({name: place for place, name in enumerate(names)})
    return ((number + times["sentence"]) % 4).map(dict(enumerate(PARTITIONS)))


def sentence_numbers(words: pd.DataFrame) -> np.ndarray:
    """Return each word's sentence, numbered from 0 through all passages of a `words` table."""
    return words.groupby(["passage_id", "sentence_index"], sort=False).ngroup().to_numpy()


def count_exclusions(times: pd.DataFrame) -> pd.DataFrame:
    """Return a row a fate of reading times (an exclusion or a partition) and how many have it."""
    fate = times["excluded"].fillna(times["partition"])
    counts = fate.value_counts().rename_axis("fate").reset_index(name="rows")
    order = [*SELF_PACED, *EYE_TRACKING, "fit", "exploratory", "held_out"]
    return counts.sort_values("fate", key=lambda fates: fates.map(order.index), ignore_index=True)


def _check(times: pd.DataFrame, corpus: str, entry: dict[str, Any]) -> None:
    if times.empty:
        raise LingprobError(f"data set {corpus!r}: no reading times in its files.")
    refuse_rows(
        np.isinf(times["rt_ms"].to_numpy(float)),
        "data set {corpus!r}: the reading time of subject {subject_id!r}, passage {passage_id!r}, "
        "word {word_index} is infinite. Mend or drop the row.",
        times,
        corpus=corpus,
    )
    refuse_rows(
        times.duplicated(["subject_id", "passage_id", "word_index"]),
        "data set {corpus!r}: subject {subject_id!r} has two reading times for word {word_index} "
        "of passage {passage_id!r}. Drop one.",
        times,
        corpus=corpus,
    )
    expected = entry.get("subjects")
    found = times["subject_id"].nunique()
    if expected is not None and found != expected:
        raise LingprobError(
            f"data set {corpus!r}: {found} subjects, but {expected} are expected. Is the file "
            "another version?"
        )


def _check_partitions(times: pd.DataFrame, corpus: str) -> None:
    for name in ("fit", "exploratory"):
        if not (times["partition"] == name).any():
            raise LingprobError(
                f"data set {corpus!r}: no reading time is left in the partition {name!r} (of "
                f"{len(times)}, {times['excluded'].notna().sum()} are excluded). It needs more "
                "sentences or subjects."
            )


def _natural(name: str) -> tuple[int, str]:
    digits = "".join(letter for letter in str(name) if letter.isdecimal())
    return (int(digits) if digits else 0, str(name))


def self_paced_reason(
    times: pd.DataFrame,
    boundary: np.ndarray,
    min_ms: float,
    max_ms: float,
    min_correct: int,
) -> np.ndarray:
    """Return why each reading time is excluded (object; None where it is kept).

    Words at sentence boundaries, times below `min_ms` or above `max_ms`, and those of readers with
    fewer than `min_correct` right answers, where the column `correct` has them.
    """
    rt = times["rt_ms"].to_numpy(float)
    poor = np.zeros(len(times), dtype=bool)
    if "correct" in times:
        poor = times["correct"].to_numpy(float) < min_correct
    return _first_reason(
        {
            "missing": np.isnan(rt),
            "comprehension": poor,
            "sentence_boundary": boundary,
            "too_short": rt < min_ms,
            "too_long": rt > max_ms,
        },
        SELF_PACED,
    )


def eye_tracking_reason(times: pd.DataFrame, boundary: np.ndarray, max_saccade: int) -> np.ndarray:
    """Return why each duration is excluded (object; None where it is kept).

    Words that were not fixated, that follow a saccade of more than `max_saccade` words, or that
    stand at a sentence boundary or (column `at_edge`) at that of a line or screen.
    """
    edge = np.zeros(len(times), dtype=bool)
    if "at_edge" in times:
        edge = times["at_edge"].to_numpy(bool)
    return _first_reason(
        {
            "unfixated": ~(times["rt_ms"].to_numpy(float) > 0),
            "saccade": times["saccade"].to_numpy(float) > max_saccade,
            "sentence_boundary": boundary,
            "line_or_screen_boundary": edge,
        },
        EYE_TRACKING,
    )


def sentence_boundaries(words: pd.DataFrame) -> np.ndarray:
    """Return which words of a `words` table are the first or last of a sentence (bool)."""
    place = words["passage_id"].astype(str) + "/" + words["sentence_index"].astype(str)
    place_array = place.to_numpy()
    change = place_array[1:] != place_array[:-1]
    return np.append(True, change) | np.append(change, True)


def saccades(times: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return whether the word before was fixated (bool), and words since the last fixated one.

    `times` (subject_id, passage_id, word_index, rt_ms) has a row a reader and word; a word without
    a row counts as not fixated. The order of fixations is not in most tables, so the saccade to a
    word is taken to start at the nearest fixated word before it, or just before the passage, which
    counts as fixated.
    """
    order = times.sort_values(["subject_id", "passage_id", "word_index"], kind="stable")
    reading = order.groupby(["subject_id", "passage_id"], sort=False).ngroup().to_numpy()
    index = order["word_index"].to_numpy(np.int64)
    fixated = order["rt_ms"].to_numpy(float) > 0
    # Places of all readings on one line, each with a place -1 before its first word.
    offset = reading * (index.max() + 2) + 1
    place = np.where(fixated, offset + index, offset - 1)
    latest = np.maximum.accumulate(place)
    before = np.maximum(np.append(-1, latest[:-1]), offset - 1)
    distance = pd.Series((offset + index - before).astype(float), index=order.index)
    distances = distance.reindex(times.index).to_numpy()
    return distances == 1.0, distances


def _first_reason(found: dict[str, np.ndarray], order: tuple[str, ...]) -> np.ndarray:
    reason = np.full(len(found[order[0]]), None, dtype=object)
    for name in reversed(order):
        reason[found[name]] = name
    return reason
