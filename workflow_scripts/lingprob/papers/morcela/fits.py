"""Tables of fits: those of each model's default convention, and the published ones beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from lingprob.papers.contract import Published

PAPER_DATASET = "linguistic_inquiry"
TABLES_OF_FITS = ("Table 2", "Table 3", "Table 4")


def published_fits(published: Published, fits: pd.DataFrame) -> pd.DataFrame:
    """Return `printed_fits`; no rows if none of our fits is of the ratings that the paper used."""
    table = printed_fits(published)
    return table if (fits["dataset"] == PAPER_DATASET).any() else table.iloc[:0]


def printed_fits(published: Published) -> pd.DataFrame:
    """Return Tables 2, 3 and 4 as one row a model and linking function, of the paper's data set.

    Columns: dataset, those of the tables, r_cv as Table 2 prints it of MORCELA, and r, which
    follows from the SSE for every linking function: sqrt(1 - SSE / SST). For four models they are
    at odds.
    """
    rows: dict[tuple[str, str], dict[str, float]] = {}
    for item in published["items"]:
        if item["item"] in TABLES_OF_FITS:
            for key, values in item["rows"].items():
                model, linking_function = key.split("/")
                row = rows.setdefault((model, linking_function), {})
                row.update(dict(zip(item["columns"], values, strict=True)))
    index = pd.MultiIndex.from_tuples(list(rows), names=["model", "linking_function"])
    table = pd.DataFrame(list(rows.values()), index=index).reset_index()
    r = np.sqrt(1 - table["sse"] / published["total_sum_of_squares"])
    return table.assign(dataset=PAPER_DATASET, r=r)


def printed_agreement(published: Published, dataset: str) -> float | None:
    """Return the r between two groups of judgments that the paper prints, of its data set alone."""
    key = f"{PAPER_DATASET}/intergroup_correlation"
    rows = [item["rows"][key] for item in published.get("items", []) if key in item["rows"]]
    return float(rows[0][0]) if rows and dataset == PAPER_DATASET else None


def determined(fits: pd.DataFrame) -> pd.DataFrame:
    """Return fits without beta and gamma (NaN) where `may_lack_logprob`.

    Both are ratios to the slope of log-probability: where that may be 0 they may be anything, of
    either sign, and intervals of them leave out what they should hold.
    """
    if "logprob_slope" not in fits:
        return fits
    ratios = [name for name in fits if name.startswith(("beta", "gamma"))]
    found = fits.copy()
    found[ratios] = found[ratios].astype(float).mask(may_lack_logprob(fits), axis=0)
    return found


def may_lack_logprob(fits: Any) -> Any:
    """Return whether the interval of the slope of log-probability holds 0: of a table of fits, bool
    (n,), or of one fit.
    """
    return (fits["logprob_slope_low"] <= 0) & (fits["logprob_slope_high"] >= 0)


def main_dataset(fits: pd.DataFrame) -> str:
    """Return the paper's data set or, where the run has others alone, the first of them."""
    shown = list(dict.fromkeys(fits["dataset"]))
    return PAPER_DATASET if PAPER_DATASET in shown else str(shown[0])


def default_fits(linking_functions: pd.DataFrame) -> pd.DataFrame:
    """Return the rows under each model's default BOS policy and unigram source."""
    return linking_functions[linking_functions["default_convention"]].reset_index(drop=True)
