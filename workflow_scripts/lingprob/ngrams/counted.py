"""Modified Kneser-Ney estimates from counts in memory, as KenLM's lmplz makes them on disk."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from lingprob.errors import LingprobError
from lingprob.ngrams.tables import NgramTables

logger = logging.getLogger(__name__)
# KenLM's, where a small corpus lacks the counts for a discount (lmplz --discount_fallback).
FALLBACK = np.array([0.0, 0.5, 1.0, 1.5])


@dataclass(frozen=True)
class _Ngrams:
    """The n-grams of one order: `key` as in `NgramTables`, `suffix`, the place of the last n - 1
    tokens among those of the order below, `count`, how often each occurs, and whether each
    `begins` a sentence; `place` is that of the one which ends at each token of the text."""

    key: np.ndarray
    suffix: np.ndarray
    count: np.ndarray
    begins: np.ndarray
    place: np.ndarray


def count_ngrams(
    sentences: Sequence[np.ndarray], order: int, vocabulary_size: int, mark: int
) -> NgramTables:
    """Estimate an interpolated model with modified Kneser-Ney smoothing (Chen & Goodman 1998).

    Nothing is pruned, and the unigrams are interpolated with the uniform distribution over the
    vocabulary, so that the probabilities after any context sum to one over the V token ids.

    Args:
        sentences: token ids, without marks.
        order: of the model, 1 or more.
        vocabulary_size: the number V of token ids.
        mark: the id that begins and ends every sentence, and is in none.

    Raises LingprobError if there is no sentence.
    """
    if not sentences:
        raise LingprobError("a corpus without a sentence makes no n-gram model. Fill it.")
    tokens = np.concatenate([np.r_[mark, ids, mark] for ids in sentences]).astype(np.int64)
    depth = np.concatenate([np.arange(len(ids) + 2) for ids in sentences])
    counted = _ngrams(tokens, depth, order, vocabulary_size)
    probabilities = np.full(vocabulary_size, 1.0 / vocabulary_size)
    tables = NgramTables([], [], [])
    for k, ngrams in enumerate(counted, start=1):
        last = k == order
        counts = ngrams.count if last else _adjusted(ngrams, counted[k])
        context = ngrams.key // vocabulary_size
        n_contexts = len(counted[k - 2].key) if k > 1 else 1
        of_order = discounts(counts)
        if of_order is FALLBACK:
            logger.warning("order %d: too few n-grams for discounts of their own, so fixed ones", k)
        discounted = of_order[np.minimum(counts, 3)]
        total = np.bincount(context, counts, n_contexts)
        backoff = np.bincount(context, discounted, n_contexts) / np.maximum(total, 1)
        probabilities = (counts - discounted) / total[context] + (
            backoff[context] * probabilities[ngrams.suffix]
        )
        tables.keys.append(ngrams.key if k > 1 else np.empty(0, dtype=np.int64))
        tables.logprobs.append(np.log(probabilities).astype(np.float32))
        if k > 1:
            known = np.where(total > 0, backoff, 1.0)
            tables.backoffs.append(np.log(known).astype(np.float32))
    return tables


def discounts(counts: np.ndarray) -> np.ndarray:
    """Return what is taken from counts of 0, 1, 2, and 3 or more (Chen & Goodman 1998, eq. 26).

    Where none of 1, 2 or 3 occurs, or a discount would be out of range, all are the fixed ones.
    """
    of = np.bincount(counts[counts <= 4], minlength=5).astype(float)
    if not of[1:4].all():
        return FALLBACK
    share = of[1] / (of[1] + 2 * of[2])
    sizes = np.arange(1, 4)
    found = sizes - (sizes + 1) * share * of[2:5] / of[1:4]
    return np.r_[0.0, found] if ((found >= 0) & (found <= sizes)).all() else FALLBACK


def _ngrams(
    tokens: np.ndarray, depth: np.ndarray, order: int, vocabulary_size: int
) -> list[_Ngrams]:
    """Return the n-grams of every order; of the first all token ids, whether they occur or not.

    `depth` is how many tokens, the mark included, precede each in its sentence.
    """
    every = np.arange(vocabulary_size)
    outcomes = np.bincount(tokens[depth > 0], minlength=vocabulary_size)
    none = np.zeros(vocabulary_size, dtype=bool)
    found = [_Ngrams(every, every, outcomes, none, tokens)]
    for n in range(2, order + 1):
        ends = np.flatnonzero(depth >= n - 1)
        below = found[-1].place
        keys = below[ends - 1] * vocabulary_size + tokens[ends]
        key, first, inverse, count = np.unique(
            keys, return_index=True, return_inverse=True, return_counts=True
        )
        place = np.full(len(tokens), -1)
        place[ends] = inverse
        seen = ends[first]
        found.append(_Ngrams(key, below[seen], count, depth[seen] == n - 1, place))
    return found


def _adjusted(ngrams: _Ngrams, longer: _Ngrams) -> np.ndarray:
    """Return how many tokens precede each n-gram, or, where it begins a sentence, its count."""
    preceded = np.bincount(longer.suffix, minlength=len(ngrams.key))
    return np.where(ngrams.begins, ngrams.count, preceded)
