"""The numbers and claims of Hu et al. (2026) against ours."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.papers.string_probability.theory import (
    assumptions,
    meaning_matched_pairs,
    surprisal_differences,
    toy_language,
    toy_surprisals,
)
from lingprob.referee.numbers import Quantities, claim, make_scorecard

Rows = list[dict[str, Any]]
HIGHEST_AUC = 0.75
ACCURACY = (0.7, 0.9)


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare the counts of Table 1a and what the text says of each prediction.

    Returns a `scorecard` table. Claims are checked for each model of ours. Tables: `correlations`,
    `confounds`, `separation`, `pools`, `toy_stimuli`, `toy_scores` where a model has weights, and
    as `counts` makes them `datasets` and `filters`.
    """
    claims = [
        *toy_claims(published, tables, run.scale),
        *correlation_claims(published, tables["correlations"], run.scale),
        *deconfounded_claims(published, tables["confounds"], run.scale),
        *separation_claims(published, tables["separation"], run.scale),
        *pairing_claims(published, tables["pools"], run.scale),
    ]
    ours = counted(tables["datasets"], tables["filters"]) | formal(tables["toy_stimuli"])
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


def formal(toy_stimuli: pd.DataFrame) -> Quantities:
    """Return what the formal part counts on its example (§2.3.1)."""
    pairs = meaning_matched_pairs(toy_language(toy_stimuli["text"].tolist()))
    return {
        ("toy_strings/meaning_matched", "value"): (float(len(pairs)), ""),
        ("toy_strings/minimal", "value"): (float(pairs["minimal"].sum()), ""),
    }


def toy_claims(published: Published, tables: Tables, scale: str) -> Rows:
    """Check what the paper says of GPT-2's surprisals of the toy strings, for each model of ours,
    and its Assumptions 2 to 6 on its own example."""
    note = "about eight strings, not a sample; the paper says it of GPT-2"
    rows = [
        claim(published, "§2.1.1", model, text, value, value > 0, scale=scale, note=note)
        for model, text, value in surprisal_differences(toy_surprisals(tables))
    ]
    language = toy_language(tables["toy_stimuli"]["text"].tolist())
    note = f"e = {language.error}, K = {language.errors}; P(m) = .70, .25, .05"
    for row in assumptions(language).itertuples():
        text = f"Assumption {row.quantity} < {row.bound:.3g}"
        about = (published, "Appendix A", "toy_strings", text, row.value, row.holds)
        rows.append(claim(*about, scale=scale, note=note))
    return rows


def deconfounded_claims(published: Published, table: pd.DataFrame, scale: str) -> Rows:
    """Check Predictions 1b and 2b as they are, at a common spread and without length.

    Each by the bootstrap interval of its change over the bins.
    """
    rows: Rows = []
    sections = {1: "§4.4", 2: "§5.2"}
    names = {
        "r": "r",
        "r_common_spread": "r at a common spread",
        "r_without_length": "r without length",
    }
    changes = table[(table["subset"] == "change") & table["quantity"].isin(names)]
    for row in changes.dropna(subset="value").itertuples():
        text = f"Prediction {row.prediction}b: change of {names[row.quantity]} over bins < 0"
        note = between(row.value_low, row.value_high)
        note += "; simulated ratings" if row.simulated else ""
        about = (published, sections[row.prediction], f"{row.model}/{row.dataset}", text)
        rows.append(claim(*about, row.value, row.value_high < 0, scale=scale, note=note))
    return rows


def between(low: float, high: float) -> str:
    """Say an interval in a note."""
    return f"95% interval {low:.3f} to {high:.3f}"


def pairing_claims(published: Published, table: pd.DataFrame, scale: str) -> Rows:
    """Check that pairing improves separation (§3), by its interval: whole, and by paradigm."""
    rows: Rows = []
    gains = table[table["pool"] == "gain"]
    for row in gains[gains["subset"] == "overall"].itertuples():
        text = "AUC within pairs - AUC of unpaired sentences > 0"
        about = (published, "§3", f"{row.model}/{row.dataset}", text, row.auc, row.auc_low > 0)
        rows.append(claim(*about, scale=scale, note=between(row.auc_low, row.auc_high)))
    by_paradigm = gains[gains["subset"] == "paradigm"]
    for (model, dataset), group in by_paradigm.groupby(["model", "dataset"], sort=False):
        above, below = (group["auc_low"] > 0).mean(), (group["auc_high"] < 0).mean()
        text = "share of paradigms that pairing helps - that it hurts > 0"
        about = (published, "§3", f"{model}/{dataset}", text, above - below, above > below)
        note = f"{len(group)} paradigms, each by its 95% interval"
        rows.append(claim(*about, scale=scale, note=note))
    return rows


def correlation_claims(published: dict[str, Any], table: pd.DataFrame, scale: str) -> Rows:
    """Check that correlations are positive, by their intervals."""
    rows: Rows = []
    sections = {1: "§4.4", 2: "§5.2"}
    for (model, dataset, prediction), group in table.groupby(
        ["model", "dataset", "prediction"], sort=False
    ):
        simulated = bool(group["simulated"].any())
        more = {"scale": scale, "note": "simulated ratings" if simulated else ""}
        about = f"{model}/{dataset}"
        item = sections[prediction]
        overall = group[group["subset"] == "overall"].iloc[0]
        name = f"Prediction {prediction}a: r > 0"
        holds = bool(overall["r_low"] > 0)
        rows.append(claim(published, item, about, name, overall["r"], holds, **more))
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
