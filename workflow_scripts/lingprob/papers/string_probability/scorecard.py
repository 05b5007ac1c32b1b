"""The numbers and claims of Hu et al. (2026) against ours."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.referee.numbers import Quantities, claim, make_scorecard

Rows = list[dict[str, Any]]
HIGHEST_AUC = 0.75
ACCURACY = (0.7, 0.9)


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare the counts of Table 1a and what the text says of each prediction.

    Returns a `scorecard` table. Claims are checked for each model of ours. Tables: `correlations`,
    `separation`, and as `counts` makes them `datasets` and `filters`.
    """
    claims = [
        *correlation_claims(published, tables["correlations"], run.scale),
        *separation_claims(published, tables["separation"], run.scale),
    ]
    ours = counted(tables["datasets"], tables["filters"])
    return make_scorecard(published, ours, claims, run.scale)


def counted(counts: pd.DataFrame, filters: pd.DataFrame) -> Quantities:
    """Return (our count, note) by (row, column) as the published numbers name them."""
    rated = set(filters["dataset"])
    found: Quantities = {
        (f"{row.dataset}/counted", "value"): (
            float(row.counted),
            f"{row.identical_pairs} pairs of identical sentences left out",
        )
        for row in counts.itertuples()
        if row.dataset not in rated
    }
    for row in filters.itertuples():
        key = (f"{row.dataset}/kept", "value")
        if row.used:
            at = row.comparison.replace("_", " ")
            reading = f"edits of {row.unit}, {at} the quantile of {row.population} pairs"
            found[key] = (float(row.kept), reading)
    return found


def correlation_claims(published: dict[str, Any], table: pd.DataFrame, scale: str) -> Rows:
    """Check that correlations are positive and lower in the last bin than in the first."""
    rows: Rows = []
    sections = {1: "§4.4", 2: "§5.2"}
    for (model, dataset, prediction), group in table.groupby(
        ["model", "dataset", "prediction"], sort=False
    ):
        simulated = bool(group["simulated"].any())
        more = {"scale": scale, "note": "simulated ratings" if simulated else ""}
        about = f"{model}/{dataset}"
        item = sections[prediction]
        overall = group.loc[group["subset"] == "overall", "r"].iloc[0]
        name = f"Prediction {prediction}a: r > 0"
        rows.append(claim(published, item, about, name, overall, overall > 0, **more))
        bins = group[group["subset"] == "bin"].dropna(subset="r")
        if len(bins) > 1:
            trend = bins["name"].astype(int).corr(bins["r"], method="spearman")
            name = f"Prediction {prediction}b: rank correlation of r with its bin < 0"
            rows.append(claim(published, item, about, name, trend, trend < 0, **more))
    return rows


def separation_claims(published: dict[str, Any], table: pd.DataFrame, scale: str) -> Rows:
    """Check poor separation beside good accuracy, and which metrics lead (§6.4)."""
    rows: Rows = []
    whole = table[table["phenomenon"] == ""]
    for (model, dataset), group in whole.groupby(["model", "dataset"], sort=False):
        by_metric = group.set_index("metric").drop(index="learned_weights")
        auc = by_metric["auc"].dropna()
        if auc.empty:
            continue
        about, item = f"{model}/{dataset}", "§6.4"
        rows.append(
            claim(
                published, item, about, "highest AUC of five metrics <= .75", auc.max(),
                auc.max() <= HIGHEST_AUC, scale=scale,
            )
        )  # fmt: skip
        leaders = auc.reindex(["mean_logprob", "slor"]).dropna()
        others = auc.drop(index=leaders.index)
        if len(leaders) == 2:
            lead = leaders.min() - others.max()
            text = "lesser AUC of mean log p and SLOR - highest of the others > 0"
            rows.append(claim(published, item, about, text, lead, lead > 0, scale=scale))
        accuracy = by_metric.loc["logprob", "accuracy"]
        if pd.notna(accuracy):
            low, high = ACCURACY
            text = "accuracy of log p on pairs about .8 (.7 to .9)"
            holds = low <= accuracy <= high
            rows.append(claim(published, item, about, text, accuracy, holds, scale=scale))
    return rows
