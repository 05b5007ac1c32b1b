"""What a model's tables of all papers say of it, a quantity a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.papers.contract import Published
from lingprob.papers.morcela.fits import PAPER_DATASET, printed_fits
from lingprob.tables import read_table

# `value` with its 95% interval, of `n` sentences, pairs or reading times; NaN where none is known.
COLUMNS = ["paper", "dataset", "quantity", "group", "value", "low", "high", "n", "unit", "scale"]
KEY = ["paper", "dataset", "quantity", "group"]
SOURCES = ["rating_source", "rt_source"]  # of what is measured, where a table says it
FUNCTIONS = {"logprob": "log p", "slor": "SLOR", "morcela": "MORCELA"}
METRICS = {"logprob": "log p", "slor": "SLOR"}
Rows = Iterator[dict[str, Any]]


def profile_rows(model: str, files: Mapping[str, Sequence[str | Path]]) -> pd.DataFrame:
    """Return COLUMNS and SOURCES for one model.

    Args:
        model: whose rows of the tables count.
        files: of each of TABLES' names, those that are there.

    Raises LingprobError for a file that is no such table.
    """
    rows: list[dict[str, Any]] = []
    for name, (schema, describe) in TABLES.items():
        for path in files.get(name, []):
            table = read_table(path, schema)
            table = table[table["model"] == model].reset_index(drop=True)
            told = {
                key: table[key].iloc[0]
                for key in ("scale", *SOURCES)
                if key in table and len(table)
            }
            rows += [told | row for row in describe(table)]
    # A regression may be there twice: of all models together, and of this one alone.
    return pd.DataFrame(rows, columns=COLUMNS + SOURCES).drop_duplicates(KEY, ignore_index=True)


def published_rows(published: Published) -> dict[str, pd.DataFrame]:
    """Return COLUMNS by model, of the numbers that MORCELA prints (Tables 2 to 4)."""
    found: dict[str, list[dict[str, Any]]] = {}
    for fit in printed_fits(published).to_dict("records"):
        row = {"paper": "morcela", "dataset": PAPER_DATASET, "group": "", "scale": "published"}
        function = FUNCTIONS.get(fit["linking_function"])
        if function is None:
            continue
        values = {f"r of {function} with ratings": fit["r"]}
        if function == "MORCELA":
            values |= {"optimal beta": fit["beta"], "optimal gamma": fit["gamma"]}
        found.setdefault(fit["model"], []).extend(
            {**row, "quantity": quantity, "value": value, "unit": UNITS.get(quantity, "")}
            for quantity, value in values.items()
        )
    return {model: pd.DataFrame(rows, columns=COLUMNS) for model, rows in found.items()}


UNITS = {"optimal gamma": "nats"}


def linking_rows(fits: pd.DataFrame) -> Rows:
    """MORCELA: r, beta and gamma under the default convention, and r's range over all of them."""
    for dataset, of_dataset in fits.groupby("dataset", sort=False):
        common = {"paper": "morcela", "dataset": dataset, "group": ""}
        chosen = of_dataset[of_dataset["default_convention"]].set_index("linking_function")
        for name, title in FUNCTIONS.items():
            if name in chosen.index:
                yield {**common, **_estimated(chosen.loc[name], "r_cv"), "n": chosen.loc[name, "n"],
                       "quantity": f"r of {title} with ratings"}  # fmt: skip
        if "morcela" not in chosen.index:
            continue
        for parameter in ("beta", "gamma"):
            quantity = f"optimal {parameter}"
            yield {**common, **_estimated(chosen.loc["morcela"], parameter), "quantity": quantity,
                   "n": chosen.loc["morcela", "n"], "unit": UNITS.get(quantity, "")}  # fmt: skip
        every = of_dataset[of_dataset["linking_function"] == "morcela"]
        for end, row in (("lowest", every["r_cv"].idxmin()), ("highest", every["r_cv"].idxmax())):
            fit = every.loc[row]
            yield {**common, **_estimated(fit, "r_cv"), "n": fit["n"],
                   "group": f"{fit['bos']}, {fit['unigrams']}",
                   "quantity": f"{end} r of MORCELA over conventions"}  # fmt: skip


def separation_rows(separation: pd.DataFrame) -> Rows:
    """String probability: accuracy on pairs by phenomenon, and areas under ROC curves."""
    for row in separation.to_dict("records"):
        common = {"paper": "string_probability", "dataset": row["dataset"]}
        common["group"] = row["phenomenon"].replace("_", " ")
        if row["metric"] == "logprob" and row["n_pairs"]:
            yield {**common, **_estimated(row, "accuracy"), "quantity": "accuracy on minimal pairs",
                   "n": row["n_pairs"]}  # fmt: skip
        if row["metric"] in METRICS and not row["phenomenon"]:
            yield {**common, **_estimated(row, "auc"),
                   "quantity": f"AUC of {METRICS[row['metric']]} over unpaired sentences",
                   "n": row["n_grammatical"] + row["n_ungrammatical"]}  # fmt: skip


def correlation_rows(correlations: pd.DataFrame) -> Rows:
    """String probability: correlations of Predictions 1 and 2 over all pairs."""
    what = {1: "r of log p within pairs", 2: "r of differences in log p and in ratings"}
    for row in correlations[correlations["subset"] == "overall"].to_dict("records"):
        yield {"paper": "string_probability", "dataset": row["dataset"], "group": "", "n": row["n"],
               "quantity": what[row["prediction"]], **_estimated(row, "r")}  # fmt: skip


def reading_rows(deltas: pd.DataFrame) -> Rows:
    """Reading: what surprisal adds to a regression of reading times, and perplexity."""
    for row in deltas.to_dict("records"):
        common = {"paper": "reading", "dataset": row["dataset"], "group": row["partition"]}
        yield {**common, **_estimated(row, "delta"), "quantity": "ΔLogLik", "unit": "nats",
               "n": row["n_evaluated"]}  # fmt: skip
        yield {**common, "group": "", "quantity": "perplexity of a word",
               "value": row["word_perplexity"]}  # fmt: skip


def unprefixed_rows(unprefixed: pd.DataFrame) -> Rows:
    """Context: accuracy without a prefix, under each BOS policy."""
    for row in unprefixed[unprefixed["level"] == "all"].to_dict("records"):
        yield {"paper": "context", "dataset": row["dataset"], "group": row["bos_policy"],
               **_estimated(row, "accuracy"), "quantity": "accuracy without a prefix",
               "n": row["n_pairs"]}  # fmt: skip


def context_rows(accuracy: pd.DataFrame) -> Rows:
    """Context: what the longest prefix of each kind changes."""
    every = accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].isna()]
    for _, of_kind in every.groupby(["dataset", "kind"], sort=False):
        row = of_kind.loc[of_kind["length"].idxmax()]
        yield {"paper": "context", "dataset": row["dataset"], **_estimated(row, "delta"),
               "group": f"{row['kind'].replace('_', ' ')}, {row['length']} tokens",
               "quantity": "change of accuracy after a prefix", "n": row["n_pairs"]}  # fmt: skip


def _estimated(row: Mapping[Any, Any] | pd.Series, name: str) -> dict[str, Any]:
    return {"value": row[name], "low": row[f"{name}_low"], "high": row[f"{name}_high"]}


# The schema of each table, and what it says of a model.
TABLES: dict[str, tuple[str, Callable[[pd.DataFrame], Rows]]] = {
    "fits": ("linking_functions", linking_rows),
    "separation": ("string_separation", separation_rows),
    "correlations": ("string_correlations", correlation_rows),
    "deltas": ("delta_log_likelihood", reading_rows),
    "unprefixed": ("context_unprefixed", unprefixed_rows),
    "accuracy": ("context_accuracy", context_rows),
}
