"""Whether one model's surprisal predicts reading times better than another's, on the same times.

Each model's own interval of ΔLogLik tells little of this: readers whom one model predicts well are
predicted well by the others, so that the difference varies less from reader to reader.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
from statsmodels.stats.multitest import multipletests

from lingprob.errors import LingprobError
from lingprob.regression.permutation import swap_p_values
from lingprob.regression.resampling import TAILS, resamples
from lingprob.schemas import SCHEMAS


def model_differences(
    gains: pd.DataFrame, deltas: pd.DataFrame, *, draws: int, seed: int
) -> pd.DataFrame:
    """Return a `model_differences` table: a row a data set and two models.

    Args:
        gains: `reading_gains` tables of the data sets, in one.
        deltas: a `delta_log_likelihood` table of the same.
        draws: of subjects (of sentences, for means over readers) behind the intervals.
        seed: of the draws and of the permutations.

    `difference` is the first model's log-likelihood (nats) of the evaluated times less that of the
    second, with the percentiles of draws that both share; `p` is the permutation test's in which
    the models change places within subjects or sentences (`swap_p_values`), and `p_holm` the same
    corrected for all differences of the data set (Holm 1979).

    Raises LingprobError if models were evaluated on different times.
    """
    parts = []
    for dataset, part in gains[gains["of"] == "delta"].groupby("dataset", sort=False):
        fits = deltas[deltas["dataset"] == dataset]
        if len(fits) > 1:
            found = _of_dataset(part, fits, str(dataset), draws, seed)
            same = fits[["rt_source", "n_evaluated", "scale"]].iloc[0]
            parts.append(found.assign(dataset=dataset, **same))
    names = SCHEMAS["model_differences"].names
    return pd.concat(parts, ignore_index=True)[names] if parts else pd.DataFrame(columns=names)


def _of_dataset(
    gains: pd.DataFrame, fits: pd.DataFrame, dataset: str, draws: int, seed: int
) -> pd.DataFrame:
    models = fits["model"].tolist()
    by_item = gains.pivot(index="item", columns="model", values="nats")[models].to_numpy()
    if np.isnan(by_item).any() or fits["n_evaluated"].nunique() > 1:
        raise LingprobError(
            f"data set {dataset!r}: models were evaluated on different reading times. Delete "
            f"results/reading/{dataset}.parquet and run again."
        )
    first, second = np.array(list(combinations(range(len(models)), 2))).T
    drawn = np.vstack([times @ by_item for times in resamples(len(by_item), draws, seed)])
    low, high = np.quantile(drawn[:, first] - drawn[:, second], TAILS, axis=0)
    p = swap_p_values(by_item, first, second, seed)
    totals = by_item.sum(axis=0)
    return pd.DataFrame(
        {
            "model": np.array(models)[first],
            "other": np.array(models)[second],
            "difference": totals[first] - totals[second],
            "difference_low": low,
            "difference_high": high,
            "p": p,
            "p_holm": multipletests(p, method="holm")[1],
            "item_kind": gains["item_kind"].iloc[0],
            "items": len(by_item),
        }
    )
