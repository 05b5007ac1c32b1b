"""What string probability is turned into before grammatical strings are told from others.

All are of a sentence with log-probability p and unigram log-probability u (nats, summed over its N
tokens) under a model with |V| tokens (string_probability, §6.1).
"""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.regression.resampling import fold_numbers

logger = logging.getLogger(__name__)
Array = NDArray[np.float64]
METRICS = (
    "logprob",
    "uniform_bayes_factor",
    "unigram_bayes_factor",
    "slor",
    "mean_logprob",
    "learned_weights",
)


def paper_metrics(scores: pd.DataFrame, vocabulary_size: int | None) -> pd.DataFrame:
    """Return the paper's five metrics with the index of `scores`, a `sentence_scores` table.

    p; p + N ln |V|, the log Bayes factor against random tokens; p - u, that against a unigram
    model; (p - u) / N, which is SLOR; p / N. NaN where |V| or u is unknown.
    """
    p, u = scores["logprob"], scores["unigram_logprob"].astype(float)
    length = scores["n_tokens"]
    return pd.DataFrame(
        {
            "logprob": p,
            "uniform_bayes_factor": p + length * np.log(vocabulary_size or np.nan),
            "unigram_bayes_factor": p - u,
            "slor": (p - u) / length,
            "mean_logprob": p / length,
        }
    )


def learned_weights(
    scores: pd.DataFrame,
    grammatical: NDArray[np.bool_],
    unit: NDArray[np.int64],
    *,
    folds: int,
    seed: int,
    weight: Array | None = None,
) -> Array:
    """Return MORCELA's score, (n,), with weights learned from grammaticality, cross-validated.

    MORCELA (Tjuatja et al. 2025) scores a sentence by (p - beta u + gamma) / N; the weights of p /
    N, u / N and 1 / N are those of an OLS regression, here of grammaticality (1 or 0) instead of
    ratings. A sentence's score comes from weights that were learned without it and the others of
    its unit, (n,) int. Without u, its term is left out. Rows count as `weight`, (n,), says. NaN for
    all if there is one class only or fewer units than folds.
    """
    units = int(unit.max()) + 1
    if units < folds or grammatical.all() or not grammatical.any():
        logger.warning("no weights learned: %d units, one class or too few", units)
        return np.full(len(scores), np.nan)
    length = scores["n_tokens"].to_numpy(dtype=float)
    terms = [np.ones_like(length), scores["logprob"].to_numpy() / length, 1 / length]
    unigrams = scores["unigram_logprob"].to_numpy(dtype=float)
    if not np.isnan(unigrams).any():
        terms.append(unigrams / length)
    design = np.column_stack(terms)
    root = np.sqrt(np.ones(len(scores)) if weight is None else weight)
    target = root * grammatical
    fold = fold_numbers(units, folds, 1, np.random.default_rng(seed))[0][unit]
    predicted = np.empty(len(scores))
    for number in range(folds):
        tested = fold == number
        learned_from = root[~tested, None] * design[~tested]
        weights, *_ = np.linalg.lstsq(learned_from, target[~tested])
        predicted[tested] = design[tested] @ weights
    return predicted
