"""Parsers of reading times; `lingprob.io.parsers` has them by the name that an entry gives.

Each takes a Source and returns subject_id, passage_id, word_index and rt_ms (ms;
NaN or 0 where a word was not fixated) and, where known, word, previous_fixated, saccade (words),
at_edge (of a line or screen) and correct (answers to comprehension questions).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import pandas as pd


class Source(NamedTuple):
    """What the parser of a data set's reading times reads.

    files: of the data set. words: the `words` table of its text. entry: the catalog's. seed: of
    simulated times.
    """

    files: Sequence[Path]
    words: pd.DataFrame
    entry: dict[str, Any]
    seed: int
