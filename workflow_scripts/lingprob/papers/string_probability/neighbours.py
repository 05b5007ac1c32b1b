"""What the model's own neighbours say of minimal pairs, beside the pair's partner and the cosine.

By Prediction 1 the probability of an ungrammatical string is that of its nearest grammatical
neighbour's message (Hu et al. 2026, §3): the best neighbour should tell it at least as well as the
partner does, and a pair is the less minimal the more its best neighbour exceeds its partner.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.regression.resampling import correlation, interval, resamples

Array = NDArray[np.float64]
COLUMNS = ("logprob_bad", "logprob_good", "logprob", "cosine_distance")
# Neighbours of as many tokens as the sentence; shorter ones are likelier for their length alone.
SAME_LENGTH = ("substitution", "transposition")


def summarise_neighbours(table: pd.DataFrame, draws: int, seed: int) -> pd.DataFrame:
    """Return each quantity with its 95% bootstrap interval over pairs, a row each.

    `table` is a `neighbours` table; rows are of the best neighbours of all, and of those of the
    same length. `excess` is how much more probable than the partner the neighbour is (nats).
    """
    rows = []
    for (model, dataset), group in table.groupby(["model", "dataset"], sort=False):
        for among, chosen in (("all edits", None), ("same length", SAME_LENGTH)):
            best = best_neighbours(group, chosen)
            about = {"model": model, "dataset": dataset, "among": among, "n_pairs": len(best)}
            rows += [{**about, **row} for row in quantities_of(best, draws, seed)]
    return pd.DataFrame(rows)


def best_neighbours(table: pd.DataFrame, edits: tuple[str, ...] | None = None) -> pd.DataFrame:
    """Return the most probable neighbour of each pair, of some edits where these are given."""
    chosen = table if edits is None else table[table["edit"].isin(edits)]
    order = chosen.sort_values("logprob", ascending=False, kind="stable")
    return order.drop_duplicates("pair_id").sort_index()


def quantities_of(best: pd.DataFrame, draws: int, seed: int) -> list[dict[str, Any]]:
    """Return the quantities of a table with a best neighbour a pair."""
    values = best[[*COLUMNS]].to_numpy(dtype=float)
    flags = best[["is_partner", "partner_in_reach"]].to_numpy(dtype=float)
    data = np.column_stack([values, flags])
    statistics: dict[str, Callable[[Array], float]] = {
        "best is the partner": lambda rows: rows[:, 4].mean(),
        "partner in reach": lambda rows: rows[:, 5].mean(),
        "excess": lambda rows: (rows[:, 2] - rows[:, 1]).mean(),
        "r(bad, partner)": lambda rows: correlation(rows[:, 0], rows[:, 1]),
        "r(bad, neighbour)": lambda rows: correlation(rows[:, 0], rows[:, 2]),
        "r(bad, neighbour) - r(bad, partner)": lambda rows: (
            correlation(rows[:, 0], rows[:, 2]) - correlation(rows[:, 0], rows[:, 1])
        ),
        "r(excess, cosine)": lambda rows: correlation(rows[:, 2] - rows[:, 1], rows[:, 3]),
    }
    drawn = [
        data[np.repeat(np.arange(len(data)), counts)]
        for some in resamples(len(data), draws, seed)
        for counts in some
    ]
    rows = []
    for name, statistic in statistics.items():
        low, high = interval(np.array([statistic(draw) for draw in drawn]))
        rows.append({"quantity": name, "value": statistic(data), "low": low, "high": high})
    return rows
