"""Unigram surprisal of words from counts over a text corpus (leakage, Appendix B).

The paper asks KenLM's unigrams of OpenWebText. Here a word's probability is its count plus one over
the number of words and forms plus one; words are compared without case and outer punctuation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.progress import Progress
from lingprob.io.text_units import plain_word, split_words


def count_words(documents: Iterable[str], progress: Progress | None = None) -> pd.DataFrame:
    """Count the word forms of a corpus; return a `word_counts` table, the most frequent first.

    Raises LingprobError for a corpus without words.
    """
    counts: Counter[str] = Counter()
    for document in documents:
        found = split_words(document)
        counts.update(found)
        if progress is not None:
            progress.advance(len(found))
    merged: Counter[str] = Counter()
    for word, count in counts.items():
        merged[plain_word(word)] += count
    if not merged:
        raise LingprobError("the corpus of the unigrams has no words. Check its files.")
    ordered = sorted(merged.items(), key=lambda item: (-item[1], item[0]))
    return pd.DataFrame(ordered, columns=["word", "count"])


def unigram_surprisal(
    words: pd.Series, counts: Iterable[pd.DataFrame], smoothing: float = 1.0
) -> np.ndarray:
    """Return the unigram surprisal (bits, float64) of each word by the sum of `word_counts` tables.

    Raises LingprobError if a word is absent from the corpus and `smoothing` is 0.
    """
    total = pd.concat(list(counts)).groupby("word")["count"].sum()
    forms = words.map(plain_word)
    found = forms.map(total).fillna(0).to_numpy(float) + smoothing
    refuse_rows(
        found <= 0,
        "the word {word!r} is not in the corpus of the unigrams, so its surprisal is infinite. "
        "Give a smoothing above 0.",
        words.to_frame("word"),
    )
    return -np.log2(found / (total.sum() + smoothing * (len(total) + 1)))
