"""Parsers of reading times, by the name that a catalog entry gives.

Each takes (files, words, entry, seed) and returns subject_id, passage_id, word_index and rt_ms (ms;
NaN or 0 where a word was not fixated) and, where known, word, previous_fixated, saccade (words),
at_edge (of a line or screen) and correct (answers to comprehension questions).
"""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd

from lingprob.reading.parsers import dundee, eye_tracking, means, self_paced, simulated

PARSERS: dict[str, Callable[..., pd.DataFrame]] = {
    "brown_spr_means": means.brown_spr,
    "brown_spr_times": self_paced.brown_spr,
    "demo_reading_times": simulated.demo,
    "dundee_first_pass": dundee.first_pass,
    "geco_first_pass": eye_tracking.geco_first_pass,
    "geco_total": eye_tracking.geco_total,
    "natural_stories_maze": self_paced.natural_stories_maze,
    "natural_stories_means": means.natural_stories,
    "natural_stories_spr": self_paced.natural_stories,
    "provo_first_pass": eye_tracking.provo_first_pass,
    "provo_first_pass_means": means.provo_first_pass,
    "provo_motr": eye_tracking.provo_motr,
    "reading_times_table": self_paced.table,
    "ucl_first_pass": eye_tracking.ucl_first_pass,
    "ucl_self_paced": self_paced.ucl,
}
