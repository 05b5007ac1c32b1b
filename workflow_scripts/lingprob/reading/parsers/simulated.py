"""Reading times that nobody took: for the demo alone, and labelled so wherever they go."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lingprob.reading.parsers import Source

SUBJECTS = 8


def demo(source: Source) -> pd.DataFrame:
    """Simulate self-paced times (ms): longer for long words and for words that the text has once.

    Readers differ in pace and in how much a letter costs them; noise is log-normal.
    """
    words = source.words
    random = np.random.default_rng(source.seed)
    letters = words["word"].str.len().to_numpy(float)
    rare = (words.groupby(words["word"].str.lower())["word"].transform("size") == 1).to_numpy(float)
    parts = []
    for number in range(1, SUBJECTS + 1):
        pace, slope = random.normal(250, 40), random.normal(10, 4)
        mean = pace + slope * letters + 40 * rare + 20 * np.append(0, rare[:-1])
        times = words[["passage_id", "word_index"]].assign(
            subject_id=f"s{number}", rt_ms=mean * random.lognormal(0, 0.2, len(words))
        )
        parts.append(times)
    return pd.concat(parts, ignore_index=True)
