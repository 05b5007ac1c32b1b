"""Which reading times are left out of the regressions, and why (leakage, Appendix B)."""

from __future__ import annotations

import numpy as np
import pandas as pd

# In this order: of several reasons, the first is given.
SELF_PACED = ("missing", "comprehension", "sentence_boundary", "too_short", "too_long")
EYE_TRACKING = ("unfixated", "saccade", "sentence_boundary", "line_or_screen_boundary")


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
