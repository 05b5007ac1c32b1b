"""Overlaps that are too improbable to be chance, and the verdict on each text (leakage, §2.1).

Their probability comes from an n-gram model of words that the caller passes in, so that any
estimator serves: KenLM, or the counted models of `lingprob.ngrams`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError

LEVEL = 0.05
WHOLE, PART, CHANCE, ABSENT, OPEN = "whole", "in part", "by chance", "absent", "not judged"


class WordModel(Protocol):
    """An n-gram model of words, with the methods of `kenlm.Model`."""

    def full_scores(
        self, text: str, bos: bool = True, eos: bool = True
    ) -> Iterable[tuple[float, int, bool]]:
        """Yield log10 p, the order of its n-gram, and whether it is unknown, of each word."""

    def score(self, text: str, bos: bool = True, eos: bool = True) -> float:
        """Return log10 p of a text's words."""


def joint_log10_prob(model: WordModel, texts: Sequence[str]) -> np.ndarray:
    """Return the joint log10-probability of each text's words, float64 (n,).

    Overlaps begin and end anywhere, so no sentence boundary is assumed on either side.
    """
    return np.array([model.score(text, bos=False, eos=False) for text in texts], dtype=np.float64)


def known_log10_prob(model: WordModel, texts: Sequence[str]) -> np.ndarray:
    """Return the joint log10-probability of the words of each text that a model knows.

    The probability of a word that a small corpus lacks is a guess, and far too low for a name.
    Without such words, a text is at least as probable. 0 for a text without a known word.
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


def logprob_threshold(n_words: float, level: float = LEVEL) -> float:
    """Return the ln p (nats) of a sequence that a corpus contains with the chance `level`.

    That chance is 1 - (1 - p)^n for a corpus of n words (leakage, footnote 3). Raises LingprobError
    if n is not positive or the level not between 0 and 1.
    """
    if not n_words > 0:
        raise LingprobError(f"the corpus has {n_words} words. The number must be positive.")
    if not 0 < level < 1:
        raise LingprobError(f"the chance level is {level}. It must lie between 0 and 1.")
    return float(np.log(-np.expm1(np.log1p(-level) / n_words)))


def chance_level(log10_prob: np.ndarray, n_words: float) -> np.ndarray:
    """Return the chance that a corpus has sequences at least once (leakage, footnote 3).

    It is 1 - (1 - p)^n_words, float64 (n,), of joint log-probabilities, base 10.
    """
    prob = np.minimum(10.0 ** np.asarray(log10_prob, dtype=np.float64), 1.0)
    with np.errstate(divide="ignore"):  # p = 1: the corpus has it
        return -np.expm1(n_words * np.log1p(-prob))


def with_chance_level(overlaps: pd.DataFrame, ngrams: WordModel, n_words: float) -> pd.DataFrame:
    """Return the overlaps with one corpus with their chance levels (leakage, §2.1).

    Only words that lie entirely within an overlap and that the model knows are counted. The overlap
    cannot be more probable than these words.

    Args:
        overlaps: table of `longest_overlaps`.
        ngrams: a model of words, preferably of another corpus, because it would expect the
            sentences of the corpus that it was estimated from.
        n_words: words of the corpus.

    Returns:
        The table with ngram_logprob (nats, joint), chance_level, and chance_level_holm, corrected
        for the number of texts (Holm 1979).
    """
    from statsmodels.stats.multitest import multipletests  # slow, and few jobs come here

    log10_prob = known_log10_prob(ngrams, overlaps["whole_words"].tolist())
    level = np.where(overlaps["overlap_tokens"] > 0, chance_level(log10_prob, n_words), 1.0)
    return overlaps.assign(
        ngram_logprob=np.where(overlaps["overlap_tokens"] > 0, log10_prob * np.log(10.0), np.nan),
        chance_level=level,
        chance_level_holm=multipletests(level, method="holm")[1],
    )


def verdicts(overlaps: pd.DataFrame) -> pd.Series:
    """Return the verdict of each row. A corrected chance level below 0.05 is no chance.

    `overlaps` is the table of `with_chance_level`, with missing levels if none were computed.
    """
    level = overlaps["chance_level_holm"].to_numpy(dtype=np.float64, na_value=np.nan)
    whole = overlaps["overlap_tokens"] == overlaps["n_tokens"]
    found = np.select(
        [overlaps["overlap_tokens"] == 0, np.isnan(level), level >= LEVEL, whole],
        [ABSENT, OPEN, CHANCE, WHOLE],
        PART,
    )
    return pd.Series(found, overlaps.index)
