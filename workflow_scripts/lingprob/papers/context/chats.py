"""Accuracy in chats by method and context, beside probability after plain text (beyond §5)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lingprob.context.names import NO_PREFIX
from lingprob.papers.context.analysis import clusters
from lingprob.regression.resampling import mean_intervals
from lingprob.schemas import SCHEMAS

# The method that others are held against: ln p after plain text.
PLAIN = "text"


def chat_table(judgments: pd.DataFrame, bootstrap: int, seed: int, scale: str) -> pd.DataFrame:
    """Return a `context_chats` table: a row a method and context.

    `delta` is the change from the same method without a context, `above_text` the accuracy less
    that by plain text after the same context, `disagreement` the share of pairs that these two
    judge differently. Intervals are of suites resampled (of pairs where there is one suite).

    Args:
        judgments: `context_chat_judgments` of some models and data sets.
        bootstrap: draws behind each interval.
        seed: of the draws.
        scale: of the run.
    """
    rows = []
    for (model, dataset), group in judgments.groupby(["model", "dataset"], sort=False):
        right = group.astype({"correct": float}).pivot(
            index=["suite", "pair_id"], columns=["method", "context"], values="correct"
        )
        units = clusters(right.index.to_frame())
        shown = group.drop_duplicates(["method", "context"])
        for method, context in zip(shown["method"], shown["context"], strict=True):
            one, plain = right[method, context], right[PLAIN, context]
            values = {
                "accuracy": one,
                "delta": one - right[method, NO_PREFIX],
                "above_text": one - plain,
                "disagreement": (one != plain).astype(float),
            }
            table = np.column_stack(list(values.values()))
            intervals = mean_intervals(table, units, draws=bootstrap, seed=seed)
            row = {"model": model, "dataset": dataset, "method": method, "context": context}
            for name, mean, (low, high) in zip(values, table.mean(axis=0), intervals, strict=True):
                row |= {name: mean, f"{name}_low": low, f"{name}_high": high}
            row["n_sentences"] = group.loc[group["context"] == context, "n_sentences"].max()
            rows.append(row | {"n_pairs": len(right), "n_suites": int(group["suite"].nunique())})
    return pd.DataFrame(rows).assign(scale=scale)[SCHEMAS["context_chats"].names]
