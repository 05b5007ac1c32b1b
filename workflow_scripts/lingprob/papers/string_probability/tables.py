"""Counts of the data sets, accuracies by paradigm, and what of all tables a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.papers.run import Run, Tables, make_each
from lingprob.papers.string_probability.data import pairs_of, with_panels
from lingprob.stats.proportions import accuracies, preferences
from lingprob.stimuli.distances import (
    COMPARISONS,
    POPULATIONS,
    EditFilter,
    edit_threshold,
    near_pairs,
    pair_texts,
    pairs_in_use,
)
from lingprob.stimuli.tables import read_csv_utf8

UNITS = ("characters", "words")
COUNTS, FILTER = "Table 1a", "§5.1"
COLUMNS = ["dataset", "paradigm", "system", "source", "measure", "n"]
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


def tabulate(
    tables: Tables,
    run: Run,
    distances: Mapping[str, pd.DataFrame],
    accuracies: Sequence[pd.DataFrame],
) -> dict[str, pd.DataFrame]:
    """Return `paradigms` of the models with panels, and of the data sets `datasets` and `filters`.

    Args:
        tables: `string_scores`, `string_correlations`, and `stimuli` as they are analysed and as
            they are (`whole`).
        run: of which data sets have titles.
        distances: `minimalness` of the rated data sets.
        accuracies: published ones, of `read_accuracies`.
    """
    whole, used = (
        {
            str(name): part.reset_index(drop=True)
            for name, part in tables[table].groupby("dataset", sort=False)
        }
        for table in ("whole", "stimuli")
    )
    reading = EditFilter()
    about = (distances, reading, run.published, run.scale)
    scores = with_panels(tables["string_scores"], run)
    correlations = tables["string_correlations"]
    return make_each(
        {
            "paradigms": lambda: paradigm_accuracies(scores, correlations, accuracies, run.models),
            "datasets": lambda: count_datasets(whole, used, run.titles, *about),
            "filters": lambda: count_filters(used, *about),
        }
    )


def published_value(published: Mapping[str, Any], item: str, row: str) -> float | None:
    """Return a number of the paper, or None if it states none."""
    (rows,) = [entry["rows"] for entry in published["items"] if entry["item"] == item]
    return float(rows[row][0]) if row in rows else None


def count_datasets(
    whole: Mapping[str, pd.DataFrame],
    used: Mapping[str, pd.DataFrame],
    titles: Mapping[str, str],
    distances: Mapping[str, pd.DataFrame],
    reading: EditFilter,
    published: Mapping[str, Any],
    scale: str,
) -> pd.DataFrame:
    """Return one row per data set: its counts, what is left out and why, and the paper's count.

    `whole` and `used` are `stimuli` tables, the latter a sample or the same; `distances` are the
    `minimalness` tables of rated pairs that are used. `counted` is what the paper counts: pairs of
    different sentences, or sentences if there are no pairs; of rated pairs those that pass the
    filter. What the analyses use are `used_pairs` and `used_sentences`.
    """
    rows = []
    for name, stimuli in whole.items():
        texts = pair_texts(stimuli, name)
        identical = int((texts["good"] == texts["bad"]).sum())
        paired = stimuli["pair_id"].notna().any()
        unrated = stimuli["rating"].isna()
        kept = pairs_in_use(used[name], name, distances.get(name), reading)
        counted = len(texts) - identical if paired else len(stimuli)
        section, quantity = (FILTER, "kept") if name in distances else (COUNTS, "counted")
        rows.append(
            {
                "dataset": name,
                "title": titles[name],
                "sentences": len(stimuli),
                "pairs": len(texts),
                "identical_pairs": identical,
                "duplicated_sentences": int(stimuli["text"].duplicated().sum()),
                # Data sets that nobody rated lack no rating.
                "missing_ratings": 0 if unrated.all() else int(unrated.sum()),
                "counted": len(kept) if name in distances else counted,
                "counted_published": published_value(published, section, f"{name}/{quantity}"),
                "used_pairs": len(kept),
                "used_sentences": 2 * len(kept) + int(used[name]["pair_id"].isna().sum()),
                "rating_source": stimuli["rating_source"].fillna("").max(),
                "scale": scale,
            }
        )
    return pd.DataFrame(rows)


def count_filters(
    stimuli: Mapping[str, pd.DataFrame],
    distances: Mapping[str, pd.DataFrame],
    chosen: EditFilter,
    published: Mapping[str, Any],
    scale: str,
) -> pd.DataFrame:
    """Return a row for each reading of the filter by edit distance: how many pairs it keeps.

    `distances` are `minimalness` tables of rated pairs, `stimuli` tables that have them; `used`
    marks the reading `chosen`. (string_probability, §5.1)
    """
    readings = [
        EditFilter(unit, chosen.quantile, comparison, population)
        for unit in UNITS
        for comparison in COMPARISONS
        for population in POPULATIONS
    ]
    rows = [
        {
            "dataset": name,
            **asdict(reading),
            "edits": edit_threshold(stimuli[name], table, reading),
            "pairs": len(table),
            "kept": len(near_pairs(stimuli[name], table, name, reading)),
            "kept_published": published_value(published, FILTER, f"{name}/kept"),
            "used": reading == chosen,
            "scale": scale,
        }
        for name, table in distances.items()
        for reading in readings
    ]
    columns = ["dataset", "unit", "quantile", "comparison", "population", "edits", "pairs", "kept"]
    return pd.DataFrame(rows, columns=[*columns, "kept_published", "used", "scale"])


COLUMNS += ["accuracy", "accuracy_low", "accuracy_high", "r", "r_low", "r_high"]


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


def page(name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a table that a reader wants to see; the rest is in its CSV file."""
    if name == "confounds":
        chosen = table[table["subset"] == "change"].drop(columns=["subset", "name"])
        return chosen.assign(note=chosen["simulated"].map({True: "simulated ratings", False: ""}))
    if name == "pools":
        return table[table["subset"] == "overall"].drop(columns=["subset", "name"])
    return table
