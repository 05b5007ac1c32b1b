"""Which overlaps are too improbable to be chance (leakage, §2.1 and footnote 3)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

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


def total_words(documents: Iterable[str]) -> int:
    """Return the number of white-space words of a corpus (leakage, footnote 3)."""
    return sum(len(document.split()) for document in documents)


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
