"""The chance that a corpus contains an overlap by accident, and a verdict on each text.

The probability of an overlap comes from an n-gram model of words (leakage, §2.1), which KenLM or
`lingprob.ngrams` estimated.
"""

import logging
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError

# An n-gram model of words: a `kenlm.Model`, or another one with its methods (`ngrams.words`).
WordModel: TypeAlias = Any
LEVEL = 0.05  # an overlap with a lower chance level is not by chance
WHOLE, PART, CHANCE, ABSENT, OPEN = "whole", "in part", "by chance", "absent", "not judged"

logger = logging.getLogger(__name__)


def joint_log10_prob(model: WordModel, texts: Sequence[str]) -> np.ndarray:
    """Return the joint log10-probability of the words of each text, float64 (n,).

    No sentence boundary is assumed on either side, because overlaps begin and end anywhere.
    """
    return np.array([model.score(text, bos=False, eos=False) for text in texts], dtype=np.float64)


def known_log10_prob(model: WordModel, texts: Iterable[str]) -> np.ndarray:
    """Return the joint log10-probability of the known words of each text, float64 (n,), 0 if none.

    The model's guess for a word that its corpus lacks is far too low for a name.
    """
    scored = (model.full_scores(text, bos=False, eos=False) for text in texts)
    known = [sum(prob for prob, _, unknown in words if not unknown) for words in scored]
    return np.array(known, dtype=np.float64)


def logprob_threshold(n_words: float, level: float = LEVEL) -> float:
    """Return the ln p (nats) of a sequence that a corpus contains with the probability `level`.

    That probability is 1 - (1 - p)^n for a corpus of n words (leakage, footnote 3). Raises
    LingprobError if n is not positive.
    """
    if not n_words > 0:
        raise LingprobError(f"the corpus has {n_words} words. The number must be positive.")
    return float(np.log(-np.expm1(np.log1p(-level) / n_words)))


def chance_level(log10_prob: np.ndarray, n_words: float) -> np.ndarray:
    """Return the probability that a corpus has each sequence at least once, float64 (n,).

    It is 1 - (1 - p)^n_words (leakage, footnote 3). `log10_prob` is the joint log10 p, (n,).
    """
    prob = np.minimum(10.0 ** np.asarray(log10_prob, dtype=np.float64), 1.0)
    with np.errstate(divide="ignore"):  # p = 1: the corpus has it
        return -np.expm1(n_words * np.log1p(-prob))


def with_chance_level(overlaps: pd.DataFrame, ngrams: WordModel, n_words: float) -> pd.DataFrame:
    """Return a table of overlaps with one corpus, with columns for their chance levels.

    The chance level of an overlap is the probability that the corpus contains it (leakage, §2.1).
    Only known words that lie entirely within the overlap count, because it cannot be more probable
    than these. A text without a known word, such as a Chinese text, has no chance level.

    Args:
        overlaps: the table of `longest_overlaps`.
        ngrams: a model of words, preferably of another corpus, whose sentences it does not expect.
        n_words: number of words of the searched corpus.

    Returns the table with ngram_logprob (nats, joint), chance_level, and chance_level_holm,
    corrected for the number of texts (Holm 1979).
    """
    from statsmodels.stats.multitest import multipletests  # slow to import, and few jobs need it

    log10_prob = known_log10_prob(ngrams, overlaps["whole_words"].tolist())
    found, known = overlaps["overlap_tokens"] > 0, known_log10_prob(ngrams, overlaps["text"]) < 0
    if lost := int((found & ~known).sum()):
        logger.warning("the n-gram model knows no word of %d texts, so they are not judged", lost)
    level = np.where(found, chance_level(log10_prob, n_words), 1.0)
    return overlaps.assign(
        ngram_logprob=np.where(found & known, log10_prob * np.log(10.0), np.nan),
        chance_level=np.where(known, level, np.nan),
        chance_level_holm=np.where(known, multipletests(level, method="holm")[1], np.nan),
    )


def verdicts(overlaps: pd.DataFrame) -> pd.Series:
    """Return the verdict on each row of a table of `with_chance_level`, by the corrected level."""
    level = overlaps["chance_level_holm"].to_numpy(dtype=np.float64, na_value=np.nan)
    whole = overlaps["overlap_tokens"] == overlaps["n_tokens"]
    found = np.select(
        [overlaps["overlap_tokens"] == 0, np.isnan(level), level >= LEVEL, whole],
        [ABSENT, OPEN, CHANCE, WHOLE],
        PART,
    )
    return pd.Series(found, overlaps.index)
