"""Build the `reading_times` table of a data set, with its exclusions and partitions.

A data set's `method` (self_paced or eye_tracking) decides the exclusions, which are those of the
leakage paper (Appendix B). Its `unit` is `subject` if a row has a reader's time, and `word` if it
has a mean over readers.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.parsers import parser_function
from lingprob.io.schemas import SCHEMAS
from lingprob.reading.tables import KEYS, OTHER, Source, check_files, check_numbers, check_words

OWN_TABLE = "reading_times_table"  # the parser of a user's own table
# The sum of the numbers of subject and sentence modulo 4 (leakage, Appendix B).
PARTITIONS = ("fit", "fit", "exploratory", "held_out")
# Of several reasons, the first in this order is given.
SELF_PACED = ("missing", "comprehension", "sentence_boundary", "too_short", "too_long")
EYE_TRACKING = ("unfixated", "saccade", "sentence_boundary", "line_or_screen_boundary")
MIN_MS, MAX_MS = 100, 3000  # of a self-paced reading time
MAX_SACCADE = 4  # words from the fixation before
MIN_CORRECT = 5  # comprehension questions (paper: more than four)


def build_reading_times(
    corpus: str,
    entry: dict[str, Any],
    words: pd.DataFrame,
    files: Sequence[Path],
    *,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the `reading_times` table of a data set, one row per reader and word.

    Excluded times have the reason in `excluded`. Others have a `partition`.

    Args:
        corpus, entry: the data set's name and catalog entry.
        words: the `words` table of its text.
        files: its files.
        seed: seed of simulated times.

    Raises LingprobError that names file, passage and word for times that are not numbers or do not
    fit the text, and if a partition is empty.
    """
    about = f"data set {corpus!r}"
    parse = load_parser(corpus, entry["parser"])
    check_files(files, corpus, is_own=entry["parser"] == OWN_TABLE)
    times = parse(Source(files, words, entry, seed))
    _check(times, about, entry)
    if "word" in times:
        check_words(times, words, about)
    elif entry["parser"] == OWN_TABLE:
        check_numbers(times, words, about)
    place = {"boundary": sentence_boundaries(words), "sentence": sentence_numbers(words)}
    times = times.merge(words[KEYS].assign(**place), on=KEYS, how="left")
    refuse_rows(
        times["boundary"].isna(),
        "{about}: subject {subject_id!r} has a time for word {word_index} of passage "
        "{passage_id!r}, which the text lacks, as have {count} rows. Number them as the text does.",
        times,
        about=about,
    )
    eye_tracking = entry["method"] == "eye_tracking"
    if eye_tracking and "saccade" not in times:
        times["previous_fixated"], times["saccade"] = saccades(times)
    times["excluded"] = exclusions(times, entry["method"])
    if not eye_tracking or entry["unit"] == "word":
        times["previous_fixated"] = None
    if "condition" not in times:
        times["condition"] = None
    times["rt_ms"] = times["rt_ms"].where(times["rt_ms"].notna(), None)
    times["partition"] = partitions(times).where(times["excluded"].isna(), None)
    _check_partitions(times, about)
    return times[SCHEMAS["reading_times"].names]


def load_parser(corpus: str, parser: str) -> Callable[[Source], pd.DataFrame]:
    """Return the parser of a data set by its name. Raises LingprobError if there is none."""
    found: Callable[[Source], pd.DataFrame] = resolve_name(parser_function(corpus, parser))
    return found


def partitions(times: pd.DataFrame) -> pd.Series:
    """Return the partition of each row of reading times by (subject + sentence) mod 4.

    0 and 1 are `fit`, 2 is `exploratory`, 3 `held_out`. A subject's number is from
    `subject_numbers`, and the column `sentence` numbers sentences from 0 through all passages.
    If every row has a condition, and no sentence several, a subject's sentences are numbered within
    each condition. Otherwise the partition of a Latin square would depend on the condition.
    """
    sentence = times["sentence"]
    conditions = times.get("condition", pd.Series(None, times.index, dtype=object))
    in_sentence = conditions.groupby([times["subject_id"], sentence]).nunique(dropna=False)
    if conditions.notna().all() and in_sentence.max() == 1:
        by_condition = times.groupby(["subject_id", "condition"])["sentence"]
        sentence = by_condition.rank("dense").astype(int) - 1
    total = subject_numbers(times["subject_id"]) + sentence
    return (total % 4).map(dict(enumerate(PARTITIONS)))


def subject_numbers(subjects: pd.Series) -> pd.Series:
    """Return the number of each row's subject, from 0 in the order of the digits in names."""

    def in_order(name: object) -> tuple[int, str]:
        return int("".join(filter(str.isdecimal, str(name))) or 0), str(name)

    names = sorted(subjects.unique(), key=in_order)
    return subjects.map({name: place for place, name in enumerate(names)})


def sentence_numbers(words: pd.DataFrame) -> np.ndarray:
    """Return the sentence of each row of a `words` table, (n,) int from 0 through all passages."""
    return words.groupby(["passage_id", "sentence_index"], sort=False).ngroup().to_numpy()


def sentence_boundaries(words: pd.DataFrame) -> np.ndarray:
    """Return which rows of a `words` table are the first or last of a sentence, (n,) bool."""
    number = sentence_numbers(words)
    change = number[1:] != number[:-1]
    return np.append(True, change) | np.append(change, True)


def count_exclusions(times: pd.DataFrame) -> pd.DataFrame:
    """Return the number of `rows` with each `fate` (a reason for exclusion, or a partition)."""
    fate = times["excluded"].fillna(times["partition"])
    counts = fate.value_counts().rename_axis("fate").reset_index(name="rows")
    order = [*SELF_PACED, *EYE_TRACKING, "fit", "exploratory", "held_out"]
    return counts.sort_values("fate", key=lambda fates: fates.map(order.index), ignore_index=True)


def _check(times: pd.DataFrame, about: str, entry: Mapping[str, Any]) -> None:
    if times.empty:
        raise LingprobError(f"{about}: no reading times in its files.")
    refuse_rows(
        times.duplicated(["subject_id", *KEYS]),
        "{about}: subject {subject_id!r} has two reading times for word {word_index} of passage "
        "{passage_id!r}. Delete one.",
        times,
        about=about,
    )
    found = times["subject_id"].nunique()
    if found != entry.get("subjects", found):
        raise LingprobError(f"{about}: {found} subjects, not {entry['subjects']}. {OTHER}")


def _check_partitions(times: pd.DataFrame, about: str) -> None:
    for name in ("fit", "exploratory"):
        if not (times["partition"] == name).any():
            raise LingprobError(
                f"{about}: no reading time is left in the partition {name!r} (of {len(times)}, "
                f"{times['excluded'].notna().sum()} are excluded). Add sentences or subjects."
            )


def exclusions(times: pd.DataFrame, method: str) -> np.ndarray:
    """Return the reason why each reading time is excluded, (n,) object, None if it is kept.

    `times` has rt_ms (ms), boundary (whether the word is first or last in a sentence) and, if they
    are known, correct, at_edge and saccade (see `reading.tables`).
    """
    rt, nothing = times["rt_ms"].to_numpy(float), pd.Series(np.nan, index=times.index)
    found = {
        "missing": np.isnan(rt),
        "comprehension": times.get("correct", nothing).to_numpy(float) < MIN_CORRECT,
        "sentence_boundary": times["boundary"].to_numpy(bool),
        "too_short": rt < MIN_MS,
        "too_long": rt > MAX_MS,
        "unfixated": ~(rt > 0),
        "saccade": times.get("saccade", nothing).to_numpy(float) > MAX_SACCADE,
        "line_or_screen_boundary": times.get("at_edge", nothing).to_numpy(float) > 0,
    }
    reason = np.full(len(times), None, dtype=object)
    for name in reversed(EYE_TRACKING if method == "eye_tracking" else SELF_PACED):
        reason[found[name]] = name
    return reason


def saccades(times: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Return previous_fixated, (n,) bool, and saccade, (n,) float, of each reading time.

    `times` (subject_id, passage_id, word_index, rt_ms) has one row per reader and word. A word
    without a row counts as not fixated. Most tables lack the order of fixations. So the saccade to
    a word starts at the nearest fixated word before it, or else just before the passage.
    """
    order = times.sort_values(["subject_id", *KEYS], kind="stable")
    reading = [order["subject_id"], order["passage_id"]]
    fixated = order["word_index"].where(order["rt_ms"].astype(float) > 0)
    before = fixated.groupby(reading).ffill().groupby(reading).shift().fillna(-1)
    distances = (order["word_index"] - before).reindex(times.index).to_numpy(float)
    return distances == 1.0, distances
