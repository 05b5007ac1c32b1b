"""Collect the results of each model from the tables of a run, and show them as pages."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.io.tables import read_table
from lingprob.site.page import heading_of, render_page, simulated_in

# `value` with its 95% interval, over `n` sentences, pairs or reading times. NaN is unknown.
COLUMNS = ["paper", "dataset", "quantity", "group", "value", "low", "high", "n", "unit", "scale"]
KEY = ["paper", "dataset", "quantity", "group"]
SOURCES = ["rating_source", "rt_source"]  # columns with the source of the data (human or simulated)
FUNCTIONS = {"logprob": "log p", "slor": "SLOR", "morcela": "MORCELA"}
METRICS = {"logprob": "log p", "slor": "SLOR"}
# The main quantity of each paper, for the page of models.
MAIN = (
    "r of MORCELA with ratings",
    "accuracy on minimal pairs",
    "ΔLogLik",
    "accuracy without a prefix",
)
# Definitions of quantities, by patterns of their names.
GLOSSES = {
    "r of * with ratings": "Pearson's r between human ratings and the cross-validated "
    "predictions of the linking function (MORCELA, §3.4).",
    "* r of MORCELA over conventions": "The lowest and the highest r over all BOS policies (start "
    "tokens) and sources of unigram frequencies.",
    "optimal beta": "The weight of unigram log-probability that predicts ratings best. It is 0 in "
    "raw log p and 1 in SLOR (MORCELA, §4.3).",
    "optimal gamma": "The constant, added before the division by length, that predicts ratings "
    "best. It is above 0 if SLOR overcorrects for length (MORCELA, §4.3).",
    "accuracy on minimal pairs": "Share of pairs whose grammatical sentence has the higher "
    "log-probability (string probability, §5). Chance is 0.5.",
    "AUC of *": "Area under the ROC curve: the probability that a grammatical sentence scores "
    "higher than an unpaired ungrammatical one (string probability, §6). Chance is 0.5.",
    "r of log p within pairs": "Pearson's r between the log-probabilities of a pair's two "
    "sentences (string probability, Prediction 1, §4).",
    "r of differences *": "Pearson's r between a pair's difference in log-probability and its "
    "difference in mean rating (string probability, Prediction 2, §5).",
    "ΔLogLik": "Gain in the log-likelihood of held-out reading times when surprisal is added to a "
    "mixed regression (leakage, §3.1).",
    "perplexity of a word": "Two to the power of the mean surprisal of a word in bits.",
    "accuracy without a prefix": "Share of pairs whose acceptable sentence has the higher "
    "log-probability, without sentences before it, by BOS policy (context, §3). Chance is 0.5.",
    "change of accuracy after a prefix": "Accuracy on pairs after the longest prefix (sentences "
    "before the pair) of a kind, minus accuracy without a prefix (context, §4).",
}
Models = Mapping[str, Mapping[str, Any]]
Rows = Iterator[dict[str, Any]]


def rows_by_model(files: Mapping[str, Sequence[str | Path]]) -> pd.DataFrame:
    """Return the results of each model, one row per quantity: COLUMNS, SOURCES and `model`.

    `files` has the existing files of each table of TABLES, by its name. Raises LingprobError if a
    file is no such table.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for name, describe in TABLES.items():
        for path in files.get(name, []):
            for model, table in read_table(path, name).groupby("model", sort=False):
                known = [key for key in ("scale", *SOURCES) if key in table]
                told = {"model": model, **{key: table[key].iloc[0] for key in known}}
                found = describe(table.reset_index(drop=True))
                rows.setdefault(str(model), []).extend(told | row for row in found)
    every = [row for of_model in rows.values() for row in of_model]
    frame = pd.DataFrame(every, columns=[*COLUMNS, *SOURCES, "model"])
    return frame.drop_duplicates([*KEY, "model"], ignore_index=True)


def titled(frame: pd.DataFrame, models: Models, titles: Mapping[str, str]) -> pd.DataFrame:
    """Return rows with the `title` of their model, sorted by family and size, and of their `data`.

    `models` has facts of each model (`palette.describe_models`), and `titles` those of data sets.
    """
    entries = [{"title": name, **models.get(name, {})} for name in frame["model"]]
    named = frame.assign(
        title=[entry["title"] for entry in entries],
        family=pd.factorize(np.array([entry.get("group", "") for entry in entries], object))[0],
        parameters=np.array([entry.get("parameters") or np.nan for entry in entries], dtype=float),
        data=[titles.get(name, name) for name in frame["dataset"]],
    )
    return named.sort_values(["family", "parameters"], kind="stable")


def main_rows(rows: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the main quantity of each paper for each model and data set, given `titled` rows.

    If a quantity has several groups (BOS policies, phenomena), the first is the default or all.
    """
    main = rows[rows["quantity"].isin(MAIN)]
    return shown_rows(main.drop_duplicates(["model", "quantity", "data"]))


def own_rows(rows: pd.DataFrame, own: Mapping[str, Sequence[str]]) -> list[dict[Any, Any]]:
    """Return the `titled` rows of the user's `models` or `datasets`, whose names `own` has."""
    is_own = rows["model"].isin(own["models"]) | rows["dataset"].isin(own["datasets"])
    return shown_rows(rows[is_own])


def shown_rows(rows: pd.DataFrame) -> list[dict[Any, Any]]:
    """Return the rows with a value as dictionaries. `quantity` includes the group."""
    known = rows[rows["value"].notna()]
    quantity = known["quantity"] + known["group"].map(lambda group: f", {group}" if group else "")
    return known.assign(quantity=quantity, note="").to_dict("records")


def model_page(
    title: str,
    rows: pd.DataFrame,
    titles: Mapping[str, str],
    facts: Sequence[str],
    root: str = "../",
) -> str:
    """Return the HTML page of one model's results, its `rows_by_model`.

    `titles` has those of data sets, by name. `root` leads from the page's folder to the results.
    """
    told = rows.assign(data=[titles.get(name, name) for name in rows["dataset"]])
    papers = [
        {
            "name": paper,
            "title": heading_of(str(paper)),
            "glosses": _glosses(of_paper["quantity"]),
            "rows": of_paper.to_dict("records"),
        }
        for paper, of_paper in told.groupby("paper", sort=False)
    ]
    return render_page(
        "model",
        title,
        facts=facts,
        papers=papers,
        scale=", ".join(rows["scale"].unique()),
        simulated=simulated_in([rows]),
        root=root,
    )


def linking_rows(fits: pd.DataFrame) -> Rows:
    """Yield r, beta and gamma under the default convention, and the range of r over conventions."""
    for _, of_dataset in fits.groupby("dataset", sort=False):
        chosen = of_dataset[of_dataset["default_convention"]].set_index("linking_function")
        for name, title in FUNCTIONS.items():
            if name in chosen.index:
                fit = chosen.loc[name]
                yield _row("morcela", fit, "r_cv", f"r of {title} with ratings", fit["n"])
        if "morcela" not in chosen.index:
            continue
        fit = chosen.loc["morcela"]
        yield _row("morcela", fit, "beta", "optimal beta", fit["n"])
        yield _row("morcela", fit, "gamma", "optimal gamma", fit["n"], unit="nats")
        every = of_dataset[of_dataset["linking_function"] == "morcela"]
        for end, row in (("lowest", every["r_cv"].idxmin()), ("highest", every["r_cv"].idxmax())):
            fit, quantity = every.loc[row], f"{end} r of MORCELA over conventions"
            group = f"{fit['bos']}, {fit['unigrams']}"
            yield _row("morcela", fit, "r_cv", quantity, fit["n"], group)


def separation_rows(separation: pd.DataFrame) -> Rows:
    """Yield accuracies on pairs by phenomenon, and areas under ROC curves."""
    for row in separation.to_dict("records"):
        group, paper = row["phenomenon"].replace("_", " "), "string_probability"
        if row["metric"] == "logprob" and row["n_pairs"]:
            quantity = "accuracy on minimal pairs"
            yield _row(paper, row, "accuracy", quantity, row["n_pairs"], group)
        if row["metric"] in METRICS and not row["phenomenon"]:
            quantity = f"AUC of {METRICS[row['metric']]} over unpaired sentences"
            yield _row(paper, row, "auc", quantity, row["n_grammatical"] + row["n_ungrammatical"])


def correlation_rows(correlations: pd.DataFrame) -> Rows:
    """Yield the correlations of Predictions 1 and 2 over all pairs."""
    names = {1: "r of log p within pairs", 2: "r of differences in log p and in ratings"}
    for row in correlations[correlations["subset"] == "overall"].to_dict("records"):
        yield _row("string_probability", row, "r", names[row["prediction"]], row["n"])


def reading_rows(deltas: pd.DataFrame) -> Rows:
    """Yield ΔLogLik and the perplexity of a word on each data set of reading times."""
    for row in deltas.to_dict("records"):
        n, part = row["n_evaluated"], row["partition"]
        yield _row("reading", row, "delta", "ΔLogLik", n, part, "nats")
        yield _row("reading", row, "word_perplexity", "perplexity of a word")


def context_rows(accuracy: pd.DataFrame) -> Rows:
    """Yield the accuracy without a prefix, and its change after the longest of each kind."""
    every = accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].isna()]
    for row in every.drop_duplicates("dataset").to_dict("records"):
        yield _row("context", row, "baseline", "accuracy without a prefix", row["n_pairs"])
    for _, of_kind in every.groupby(["dataset", "kind"], sort=False):
        row = of_kind.loc[of_kind["length"].idxmax()]
        group = f"{row['kind'].replace('_', ' ')}, {row['length']} tokens"
        quantity = "change of accuracy after a prefix"
        yield _row("context", row, "delta", quantity, row["n_pairs"], group)


# The rows of a model in each table, by schema.
TABLES: dict[str, Callable[[pd.DataFrame], Rows]] = {
    "linking_functions": linking_rows,
    "string_separation": separation_rows,
    "string_correlations": correlation_rows,
    "delta_log_likelihood": reading_rows,
    "context_accuracy": context_rows,
}


def _row(
    paper: str,
    row: Mapping[Any, Any] | pd.Series,
    column: str,
    quantity: str,
    n: int | None = None,
    group: str = "",
    unit: str = "",
) -> dict[str, Any]:
    """Return COLUMNS (but scale) for one quantity: a column in a table's row."""
    about = {"paper": paper, "dataset": row["dataset"], "quantity": quantity, "group": group}
    ends = {end: row.get(f"{column}_{end}") for end in ("low", "high")}
    return {**about, "value": row[column], **ends, "n": n, "unit": unit}


def _glosses(quantities: pd.Series) -> list[tuple[str, str]]:
    """Return pairs of names of quantities and their definition, one for each pattern of GLOSSES."""
    return [
        (", ".join(alike), gloss)
        for pattern, gloss in GLOSSES.items()
        if (alike := [name for name in quantities.unique() if fnmatchcase(name, pattern)])
    ]
