"""Intervals of shares of right answers that come in clusters, as items after one prefix do."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats

QUANTILE = 0.975


def preferences(good: ArrayLike, bad: ArrayLike) -> NDArray[np.float64]:
    """Return, (n,), 1 where a pair's good side is above its bad one, 0 where below, 1/2 of a tie.

    So an accuracy is the area under the ROC curve of each pair alone, and .5 is chance for models
    that often tie, too: a unigram model where two words are swapped. NaN where a side is.
    """
    difference = np.asarray(good, dtype=float) - np.asarray(bad, dtype=float)
    return (np.sign(difference) + 1) / 2


def accuracies(right: pd.Series, by: pd.Series) -> pd.DataFrame:
    """Return how often answers are right in each group, a row a group in the order of their first.

    Args:
        right: (n,) bool, or float as `preferences` are.
        by: (n,) the group of each; one without a group is in none.

    Returns:
        Indexed by group: n, accuracy (the share of right ones), accuracy_low and accuracy_high,
        Wilson's 95% interval.
    """
    rows = {}
    for group, some in right.groupby(by.to_numpy(), sort=False):
        low, high = _wilson(float(some.mean()), len(some))
        rows[group] = {
            "n": len(some),
            "accuracy": some.mean(),
            "accuracy_low": low,
            "accuracy_high": high,
        }
    columns = ["n", "accuracy", "accuracy_low", "accuracy_high"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def clustered_proportion_interval(
    correct: NDArray[np.bool_], cluster: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the 95% interval of a share of successes that may go together within clusters.

    Wilson's interval with as many independent trials as the clusters are worth (Korn & Graubard
    1998): the trials over the design effect, which is at least 1, and fewer for the t distribution
    with a degree of freedom less than there are clusters. It has a width where all or none succeed.

    Args:
        correct: (n,) bool, n of at least 1.
        cluster: (n,) int; what is drawn together. With one cluster no more than the trials' own
            spread is known, and they count as independent.
    """
    n, share = len(correct), float(np.mean(correct))
    clusters, worth = len(np.unique(cluster)), float(n)
    if clusters > 1:
        ratio = stats.t.ppf(QUANTILE, n - 1) / stats.t.ppf(QUANTILE, clusters - 1)
        worth *= ratio**2 / max(1.0, design_effect(np.asarray(correct, float), cluster))
    return _wilson(share, worth)


def _wilson(share: float, n: float) -> tuple[float, float]:
    """Return Wilson's 95% interval of a share of n trials."""
    z = stats.norm.ppf(QUANTILE)
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return max(0.0, min(centre - reach, share)), min(1.0, max(centre + reach, share))


def design_effect(values: NDArray[np.float64], cluster: NDArray[np.int64]) -> float:
    """Return the variance of a mean of clusters over that of as many independent values.

    The former is that of a ratio of sums over clusters, linearised. 1 where values do not vary.
    """
    n, codes = len(values), np.unique(cluster, return_inverse=True)[1]
    clusters = codes.max() + 1
    residual = values - values.mean()
    independent = float(residual @ residual) / (n - 1) / n
    if independent == 0 or clusters < 2:
        return 1.0
    sums = np.bincount(codes, residual)
    clustered = clusters / (clusters - 1) * float(sums @ sums) / n**2
    return clustered / independent
