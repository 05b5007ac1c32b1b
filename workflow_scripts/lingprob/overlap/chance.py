"""Which overlaps are too improbable to be chance, and the verdict on each text (leakage, §2.1 and
footnote 3)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from lingprob.errors import LingprobError, unknown_name

LEVEL = 0.05
# A word that no model knows, and the log10-probability that KenLM makes up without <unk>.
UNKNOWN, NO_UNKNOWN = "\ufffe\uffff", -99.0
# The paper's limits of the joint log-probability (leakage, Figure 1), natural logarithms.
PUBLISHED_THRESHOLDS = {"the_pile": -28.87, "owt": -25.33}
CONVENTIONS = ("compat", "corrected")
PUBLISHED_COLUMNS = [
    "corpus", "article_num", "article_len", "overlap_len", "overlap_last_token", "overlap_freq",
    "5gram_logprob", "below_threshold",
]  # fmt: skip
WHOLE, PART, CHANCE, ABSENT, OPEN = "whole", "in part", "by chance", "absent", "not judged"
# What the verdicts mean, the gravest first.
VERDICTS = {
    WHOLE: "the corpus has all of the text, and that is no chance",
    PART: "the corpus has a part of the text that is too improbable to be chance",
    CHANCE: "a corpus of this size has an overlap like this one by chance",
    ABSENT: "the corpus has no overlap with the text that counts",
    OPEN: "nobody computed how probable the overlap is by chance",
}


def logprob_threshold(n_words: float, level: float = LEVEL) -> float:
    """Return the ln p (nats) of a sequence that a corpus holds with the chance `level`.

    That chance is 1 - (1 - p)^n, for a corpus of n white-space words. Raises LingprobError if n is
    not positive or the level not between 0 and 1.
    """
    if not n_words > 0:
        raise LingprobError(f"the corpus has {n_words} words; a positive number is needed.")
    if not 0 < level < 1:
        raise LingprobError(f"the chance level is {level}; it must lie between 0 and 1.")
    return float(np.log(-np.expm1(np.log1p(-level) / n_words)))


def below_threshold(
    log10_prob: np.ndarray, threshold: float, convention: str = "compat"
) -> np.ndarray:
    """Flag sequences that chance is unlikely to put into a corpus.

    Args:
        log10_prob: joint log-probabilities as KenLM gives them, base 10.
        threshold: as `logprob_threshold` gives it, nats.
        convention: `compat` compares the two numbers as they stand, as the published tables do
            although their units differ; `corrected` turns log10 into nats first.

    Returns:
        bool, of the shape of `log10_prob`.
    """
    if convention not in CONVENTIONS:
        raise unknown_name("convention", convention, CONVENTIONS, "(of the chance level)")
    scale = 1.0 if convention == "compat" else np.log(10.0)
    return np.asarray(log10_prob, dtype=np.float64) * scale < threshold


def read_published(path: str | Path) -> pd.DataFrame:
    """Read a published table of longest overlaps (leakage, footnote 4: rt_leakage).

    Returns the file's columns; `below_threshold` is bool.

    Raises LingprobError if columns are missing.
    """
    table = pd.read_csv(path, sep="\t")
    missing = [column for column in PUBLISHED_COLUMNS if column not in table]
    if missing:
        raise LingprobError(f"{path}: column {missing[0]!r} is missing. Fetch the file again.")
    return table[PUBLISHED_COLUMNS].astype({"below_threshold": bool})


def load_kenlm(path: str | Path) -> Any:
    """Load an ARPA or binary n-gram model of order 2 or more.

    Raises LingprobError without the package `kenlm`, or if the file is not such a model.
    """
    try:
        import kenlm
    except ImportError as error:
        raise LingprobError(
            "the package kenlm is not installed. `pip install kenlm` (Python 3.11 or 3.12), or "
            "leave out the chance level (overlap.ngrams: null)."
        ) from error
    if not Path(path).is_file():
        raise LingprobError(f"{path}: no such n-gram model. Estimate one with lmplz, or name one.")
    try:
        model = kenlm.Model(str(path))
    except (OSError, RuntimeError) as error:
        raise LingprobError(
            f"{path}: kenlm cannot read it ({error}). Order 2 or more is needed."
        ) from error
    if model.score(UNKNOWN, bos=False, eos=False) <= NO_UNKNOWN:
        raise LingprobError(
            f"{path}: the n-gram model has no <unk>, so a text with a word that it does not know "
            "would never be a chance overlap. Estimate it with an unknown word, as lmplz does."
        )
    return model


def joint_log10_prob(model: Any, texts: Sequence[str]) -> np.ndarray:
    """Return the joint log10-probability of each text's white-space words, float64.

    No sentence boundary is assumed on either side: overlaps begin and end anywhere.
    """
    return np.array([model.score(text, bos=False, eos=False) for text in texts], dtype=np.float64)


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
