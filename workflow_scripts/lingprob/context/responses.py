"""How judgments change with a prefix: each beside the same pair's without one."""

from __future__ import annotations

import pandas as pd

from lingprob.context.names import MATCHED, NO_PREFIX

# Columns of judgments that a suite's response is computed from.
RESPONSE = [
    "model",
    "dataset",
    "suite",
    "pair_id",
    "kind",
    "perturbation",
    "length",
    "correct",
    "margin",
]


def in_categories(judgments: pd.DataFrame) -> pd.DataFrame:
    """Return judgments whose texts are categories: millions of rows take a tenth of the memory."""
    texts = judgments.columns[[pd.api.types.is_string_dtype(kind) for kind in judgments.dtypes]]
    return judgments.astype(dict.fromkeys(texts, "category"))


def with_baseline(judgments: pd.DataFrame) -> pd.DataFrame:
    """Return judgments under prefixes, each with its pair's judgment and margin without one."""
    keys = ["model", "dataset", "pair_id"]
    alone = judgments[judgments["kind"] == NO_PREFIX].drop_duplicates(keys)
    baseline = alone.set_index(keys)[["correct", "margin"]].add_prefix("baseline_")
    return judgments[judgments["kind"] != NO_PREFIX].join(baseline, on=keys)


def at_longest(judgments: pd.DataFrame, kind: str) -> pd.DataFrame:
    """Return each pair's judgment after the longest prefix of one kind, with its baseline."""
    prefixed = with_baseline(judgments)
    rows = prefixed[(prefixed["kind"] == kind) & prefixed["perturbation"].isna()]
    return rows.sort_values("length", kind="stable").drop_duplicates(
        ["model", "dataset", "pair_id"], keep="last"
    )


def responsive_suites(judgments: pd.DataFrame, count: int) -> list[str]:
    """Return the suites that respond most to matched acceptable prefixes (context, §5).

    By the mean over models of the size of the change in accuracy at the greatest length, as
    footnote 8 refers to Table 1; ties by name.
    """
    rows = at_longest(judgments, MATCHED[0])
    by_suite = rows.groupby(["model", "suite"])[["correct", "baseline_correct"]].mean()
    mean = (by_suite["correct"] - by_suite["baseline_correct"]).abs().groupby("suite").mean()
    ordered = mean.reset_index(name="change").sort_values(
        ["change", "suite"], ascending=[False, True]
    )
    return ordered["suite"].head(count).tolist()
