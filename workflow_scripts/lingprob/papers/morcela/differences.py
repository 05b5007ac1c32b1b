"""Differences between models, on the resamples that they share."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd

PARAMETERS = ["beta", "gamma", "r_cv"]


def parameter_differences(fits: pd.DataFrame, draws: pd.DataFrame) -> pd.DataFrame:
    """Return MORCELA's beta, gamma and r_cv of each model less those of each later one.

    Args:
        fits: `linking_functions` under each model's default convention.
        draws: `linking_draws` of the same models.

    A row a data set and pair of models: dataset, model, other, and the differences with _low and
    _high, the percentiles of paired draws about the estimates; models whose scores have other
    sentences are not compared. Paired intervals are narrower than the two models' own suggest,
    since both fit the same ratings.
    """
    values, draws = (table[table["linking_function"] == "morcela"] for table in (fits, draws))
    values, rows = values.set_index(["dataset", "model"]), []
    for dataset, of_dataset in draws.groupby("dataset", sort=False):
        by_model = dict(tuple(of_dataset.groupby("model", sort=False)))
        for model, other in combinations(by_model, 2):
            pair = [by_model[name].sort_values("draw") for name in (model, other)]
            shared = [{(row.n, row.cluster) for row in one.itertuples()} for one in pair]
            if shared[0] != shared[1] or len(pair[0]) != len(pair[1]):
                continue
            row = {"dataset": dataset, "model": model, "other": other}
            for name in PARAMETERS:
                drawn = pair[0][name].to_numpy(float) - pair[1][name].to_numpy(float)
                of_each = [values.loc[(dataset, one), name] for one in (model, other)]
                value = of_each[0] - of_each[1]
                low, high = np.nanquantile(drawn, (0.025, 0.975))
                shift = value - np.nanmean(drawn) if name == "r_cv" else 0.0
                row |= {name: value, f"{name}_low": low + shift, f"{name}_high": high + shift}
            rows.append(row)
    ends = [f"{name}{end}" for name in PARAMETERS for end in ("", "_low", "_high")]
    return pd.DataFrame(rows, columns=["dataset", "model", "other", *ends])
