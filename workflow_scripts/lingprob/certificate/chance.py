"""Whether an overlap is more than chance: the verdict on each text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from lingprob.overlap.chance import LEVEL

WHOLE, PART, CHANCE, ABSENT, OPEN = "whole", "in part", "by chance", "absent", "not judged"
# What the verdicts mean, the gravest first.
VERDICTS = {
    WHOLE: "the corpus has all of the text, and that is no chance",
    PART: "the corpus has a part of the text that is too improbable to be chance",
    CHANCE: "a corpus of this size has an overlap like this one by chance",
    ABSENT: "the corpus has no overlap with the text that counts",
    OPEN: "nobody computed how probable the overlap is by chance",
}


def chance_level(log10_prob: np.ndarray, n_words: float) -> np.ndarray:
    """Return the chance that a corpus has sequences at least once (leakage, footnote 3).

    That is 1 - (1 - p)^n, for a corpus of n white-space words.

    Args:
        log10_prob: joint log-probabilities as KenLM gives them, base 10, (n,).
        n_words: n.

    Returns:
        float64 (n,), from 0 to 1.
    """
    prob = np.minimum(10.0 ** np.asarray(log10_prob, dtype=np.float64), 1.0)
    with np.errstate(divide="ignore"):  # p = 1: the corpus has it
        return -np.expm1(n_words * np.log1p(-prob))


def known_log10_prob(model: Any, texts: Sequence[str]) -> np.ndarray:
    """Return the joint log10-probability of the words of each text that a KenLM model knows.

    What a model of a small corpus gives to a word that it never saw is a guess, and far too little
    for names and numbers; without them a text is no less probable. As in `joint_log10_prob` there
    is no sentence boundary. float64 (n,), 0 for a text without a known word.
    """
    return np.array(
        [
            sum(
                log10_prob
                for log10_prob, _, is_unknown in model.full_scores(text, bos=False, eos=False)
                if not is_unknown
            )
            for text in texts
        ],
        dtype=np.float64,
    )


def with_chance_level(overlaps: pd.DataFrame, ngrams: Any, n_words: float) -> pd.DataFrame:
    """Return the overlaps with one corpus with their chance levels (leakage, §2.1).

    Only words count that lie whole in an overlap and that the n-gram model knows: the overlap is no
    more probable than these.

    Args:
        overlaps: as `longest_overlaps` gives them.
        ngrams: a model of words as `load_kenlm` loads it, better not of this corpus: it would
            expect what stands there.
        n_words: white-space words of the corpus.

    Returns:
        The table with ngram_logprob (nats, joint), chance_level, and chance_level_holm, corrected
        for the number of texts (Holm 1979).
    """
    log10_prob = known_log10_prob(ngrams, overlaps["whole_words"].tolist())
    level = np.where(overlaps["overlap_tokens"] > 0, chance_level(log10_prob, n_words), 1.0)
    return overlaps.assign(
        ngram_logprob=np.where(overlaps["overlap_tokens"] > 0, log10_prob * np.log(10.0), np.nan),
        chance_level=level,
        chance_level_holm=multipletests(level, method="holm")[1],
    )


def verdicts(overlaps: pd.DataFrame) -> pd.Series:
    """Return a verdict a row, by the corrected chance level: below .05 an overlap is no chance.

    `overlaps` is as `with_chance_level` gives it, with missing levels where none were computed.
    """
    level = overlaps["chance_level_holm"].to_numpy(dtype=np.float64, na_value=np.nan)
    whole = overlaps["overlap_tokens"] == overlaps["n_tokens"]
    found = np.select(
        [overlaps["overlap_tokens"] == 0, np.isnan(level), level >= LEVEL, whole],
        [ABSENT, OPEN, CHANCE, WHOLE],
        PART,
    )
    return pd.Series(found, overlaps.index)
