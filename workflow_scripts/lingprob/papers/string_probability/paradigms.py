"""Accuracy by paradigm: our models, and models and people whose accuracies others published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.papers.string_probability.data import pairs_of
from lingprob.regression.proportions import accuracies, preferences
from lingprob.stimuli.csv_files import read_csv_utf8

COLUMNS = ["dataset", "paradigm", "system", "source", "measure", "n"]
COLUMNS += ["accuracy", "accuracy_low", "accuracy_high", "r", "r_low", "r_high"]
# Columns of BLiMP's summary and of SyntaxGym's files, by what they are of.
BLIMP_SYSTEMS = {"ngram": "5-gram", "lstm": "LSTM", "txl": "Transformer-XL", "gpt2": "GPT-2 large"}
SYNTAXGYM_SYSTEMS = {
    "gpt-2-pretrained_": "GPT-2",
    "gpt-2-xl-pretrained_": "GPT-2 XL",
    "gpt-2_bllip-lg-gptbpe": "GPT-2 (BLLIP)",
    "grnn_": "GRNN",
    "jrnn_": "JRNN",
    "transformer-xl_": "Transformer-XL",
}


def paradigm_accuracies(
    scores: pd.DataFrame,
    correlations: pd.DataFrame,
    published: Iterable[pd.DataFrame],
    models: Mapping[str, Any],
) -> pd.DataFrame:
    """Return accuracy of log p and r of Prediction 1 by paradigm, ours and published, a row each.

    Args:
        scores: `string_scores` of all models.
        correlations: `string_correlations` of them.
        published: tables of `read_accuracies`; of data sets that were not scored here they are
            left out.
        models: titles of our models, by name.

    Pairs without a paradigm are left out. Intervals are Wilson's; a published accuracy has none.
    """
    rows = []
    for (model, dataset), group in scores.groupby(["model", "dataset"], sort=False):
        pairs = pairs_of(group).dropna(subset="paradigm")
        if pairs.empty:
            continue
        right = pd.Series(preferences(pairs["logprob_good"], pairs["logprob_bad"]))
        found = accuracies(right, pairs["paradigm"]).rename_axis("paradigm").reset_index()
        rows.append(found.assign(dataset=dataset, model=model))
    empty = pd.DataFrame(columns=["dataset", "paradigm", "model"])
    ours = pd.concat(rows, ignore_index=True) if rows else empty
    by_paradigm = correlations[
        (correlations["subset"] == "paradigm") & (correlations["prediction"] == 1)
    ].rename(columns={"name": "paradigm"})
    keys = ["model", "dataset", "paradigm"]
    ours = ours.merge(by_paradigm[[*keys, "r", "r_low", "r_high"]], on=keys, how="left")
    ours["system"] = ours["model"].map({name: entry["title"] for name, entry in models.items()})
    ours = ours.assign(source="ours", measure="pairs")
    used = [table[table["dataset"].isin(ours["dataset"].unique())] for table in published]
    parts = [part for part in (ours, *used) if len(part)]
    together = pd.concat(parts, ignore_index=True) if parts else ours
    return together.reindex(columns=COLUMNS)


def read_accuracies(parser: str, folder: Path) -> pd.DataFrame:
    """Read published accuracies by paradigm: dataset, paradigm, system, measure, n, accuracy.

    `blimp_accuracies` are of four models on pairs, and of people; `syntaxgym_accuracies` the share
    of items whose suite's predictions a model meets, which is not an accuracy on pairs.
    """
    if parser not in READERS:
        raise LingprobError(f"parser {parser!r} reads no accuracies; {list(READERS)} do.")
    return READERS[parser](folder).assign(source="published")


def blimp_accuracies(folder: Path) -> pd.DataFrame:
    """Read Warstadt et al. (2020): the 67 paradigms without the means over phenomena."""
    summary = pd.read_json(folder / "models_summary.jsonl", lines=True)
    summary = summary[summary["UID"] != "overall"].rename(columns={"UID": "paradigm"})
    models = summary.melt("paradigm", list(BLIMP_SYSTEMS), "system", "accuracy")
    models["system"] = models["system"].map(BLIMP_SYSTEMS)
    people = read_csv_utf8(folder / "human_validation_summary.csv")
    people = people.rename(columns={"Condition": "paradigm", "total_mean": "accuracy"})
    people = people[people["paradigm"].isin(summary["paradigm"])].assign(system="people")
    columns = ["paradigm", "system", "accuracy", "n"]
    people = people.rename(columns={"count": "n"}).reindex(columns=columns)
    table = pd.concat([models.assign(n=1000)[columns], people], ignore_index=True)
    return table.assign(dataset="blimp", measure="pairs")


def syntaxgym_accuracies(folder: Path) -> pd.DataFrame:
    """Read Hu et al. (2020): items of a suite whose predictions all hold."""
    parts = []
    for name, system in SYNTAXGYM_SYSTEMS.items():
        items = read_csv_utf8(folder / f"syntaxgym_results_{name}.csv")
        by_suite = items.groupby("suite")["correct"].agg(["mean", "size"]).reset_index()
        parts.append(by_suite.set_axis(["paradigm", "accuracy", "n"], axis=1).assign(system=system))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(dataset="syntaxgym_pairs", measure="predictions of suites")


READERS = {"blimp_accuracies": blimp_accuracies, "syntaxgym_accuracies": syntaxgym_accuracies}
