"""How well linking functions predict sentences that they were not fitted to, in more than one way.

MORCELA's r is that of five shuffled folds (morcela, §3.4), in which a held-out sentence has its
pair, and other sentences of its article, among those fitted to. Here whole phenomena are left out,
too (of Linguistic Inquiry, articles). Beside r stand the authors' accuracy, precision, recall and
F1: ratings and predictions above 0, the mean of z-scores, count as acceptable, and what is looked
for is the unacceptable sentence (public code, linking_functions.py). Of ratings that no z-scores
are, such as means of 1 to 7, those above their mean do.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.regression.linking_predictions import Sentences, held_out
from lingprob.regression.rating_scale import middle
from lingprob.regression.resampling import fold_numbers, interval, resamples

Array = NDArray[np.float64]
Ints = NDArray[np.intp]

MEASURES = ("r_pooled", "accuracy", "precision", "recall", "f1")


class Scheme(NamedTuple):
    """How sentences are left out: a name, and the fold of each, (repeats, n) int from 0."""

    name: str
    folds: Ints


def schemes(
    n: int, phenomenon: pd.Series | None, *, folds: int, repeats: int, seed: int
) -> list[Scheme]:
    """Return shuffled folds of sentences and, if there are two phenomena at least, these.

    The shuffles are those of `fit_linking_functions` with the same seed.
    """
    shuffled = fold_numbers(n, folds, repeats, np.random.default_rng([seed, 0]))
    found = [Scheme(f"{folds} shuffled folds", shuffled)]
    if phenomenon is not None and phenomenon.notna().all() and phenomenon.nunique() > 1:
        found.append(Scheme("leave one phenomenon out", pd.factorize(phenomenon)[0][None, :]))
    return found


def validate(data: Sentences, scheme: Scheme, *, draws: int, seed: int) -> dict[str, float]:
    """Return measures of held-out predictions, averaged over repeats, with 95% intervals.

    r is the mean over test folds of three sentences at least, as the paper's; r_pooled takes all
    held-out predictions together, as do accuracy and, for unacceptable sentences, precision,
    recall and f1. Intervals resample `data.unit`, the predictions as they are.
    """
    predictions = np.array([held_out(data, fold) for fold in scheme.folds])
    pairs = zip(predictions, scheme.folds, strict=True)
    of_folds = [_mean_r(predicted, data.rating, fold) for predicted, fold in pairs]
    # One table of sums a sentence, averaged over repeats, but for r, which is of the averages.
    mean = predictions.mean(axis=0)
    sums = _sums(mean, predictions, data.rating)
    by_unit = np.zeros((int(data.unit.max()) + 1, sums.shape[1]))
    np.add.at(by_unit, data.unit, sums)
    drawn = np.concatenate([_measures(c @ by_unit) for c in resamples(len(by_unit), draws, seed)])
    found = {"r": float(np.mean(of_folds)), "n_folds": int(scheme.folds.max()) + 1}
    for place, name in enumerate(MEASURES):
        low, high = interval(drawn[:, place])
        value = float(_measures(by_unit.sum(axis=0)[None])[0, place])
        found |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return found


def _mean_r(predicted: Array, rating: Array, fold: Ints) -> float:
    r = []
    for number in range(int(fold.max()) + 1):
        x, y = predicted[fold == number], rating[fold == number]
        if len(x) > 2 and x.std() > 0 and y.std() > 0:
            r.append(np.corrcoef(x, y)[0, 1])
    return float(np.mean(r))


def _sums(mean: Array, predictions: Array, rating: Array) -> Array:
    """Return what the measures are made of, (n, 10): moments of the mean prediction and the
    rating, and, averaged over repeats, hits, false alarms, misses and correct rejections."""
    bad, called = rating <= middle(rating), predictions <= middle(rating)
    shares = [
        (called & bad).mean(axis=0),
        (called & ~bad).mean(axis=0),
        (~called & bad).mean(axis=0),
        (~called & ~bad).mean(axis=0),
    ]
    ones = np.ones_like(rating)
    moments = [ones, mean, rating, mean**2, rating**2, mean * rating]
    return np.column_stack([*moments, *shares])


def _measures(sums: Array) -> Array:
    """Return MEASURES, (m, 5), of summed columns (m, 10); NaN where one is undefined."""
    n, x, y, xx, yy, xy, hits, alarms, misses, rejections = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (n * xy - x * y) / np.sqrt((n * xx - x**2) * (n * yy - y**2))
        columns = [
            r,
            (hits + rejections) / n,
            hits / (hits + alarms),
            hits / (hits + misses),
            2 * hits / (2 * hits + alarms + misses),
        ]
    return np.column_stack(columns)
