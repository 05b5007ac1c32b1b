"""MORCELA's numbers and claims against ours."""

from __future__ import annotations

from typing import Any

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.referee.numbers import Quantities, claim, make_scorecard

PAPER_DATASET = "linguistic_inquiry"


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare every number of MORCELA's text and Tables 2 to 4; return a `scorecard` table.

    A verdict is `agrees` (within the tolerance), `differs`, or `not computed at this scale`.
    Claims that need no published number (one linking function above another) are rows too.
    Tables: `linking_functions`, `intergroup_correlation` and `stimuli` with their `dataset`.
    """
    claims = morcela_claims(published, tables["linking_functions"], run.scale)
    return make_scorecard(published, morcela_quantities(tables), claims, run.scale)


def morcela_quantities(tables: Tables) -> Quantities:
    """Return (our value, note) by (row, column) as the published numbers name them.

    Only the paper's data set and each model's default conventions count.
    """
    paper = PAPER_DATASET
    found: Quantities = {}
    sentences = (tables["stimuli"]["dataset"] == paper).sum()
    if sentences:
        found[(f"{paper}/sentences", "value")] = (float(sentences), "")
    fits = tables["linking_functions"]
    fits = fits[fits["default_convention"] & (fits["dataset"] == paper)]
    for fit in fits.itertuples():
        row = f"{fit.model}/{fit.linking_function}"
        for column in ("beta", "gamma", "r_cv", "aic", "bic", "sse"):
            found[(row, column)] = (float(getattr(fit, column)), f"{fit.bos}, {fit.unigrams}")
    halves = tables["intergroup_correlation"]
    halves = halves[(halves["dataset"] == paper) & (halves["definition"] == "equal_halves")]
    for half in halves.itertuples():
        found[(f"{paper}/intergroup_correlation", "r")] = (float(half.r), str(half.description))
    return found


def morcela_claims(
    published: Published, linking_functions: pd.DataFrame, scale: str
) -> list[dict[str, Any]]:
    """Check the paper's orderings for every model of ours: §4.1, §4.2 and §4.3."""
    fits = linking_functions[linking_functions["default_convention"]]
    rows: list[dict[str, Any]] = []
    for (model, dataset), group in fits.groupby(["model", "dataset"], sort=False):
        by_name = group.set_index("linking_function")
        if "morcela" not in by_name.index:
            continue
        r, morcela = by_name["r_cv"], by_name.loc["morcela"]
        claims = {
            ("§4.1", "r(MORCELA) - r(SLOR) > 0"): r["morcela"] - r["slor"],
            ("§4.1", "r(SLOR) - r(log-probability) > 0"): r["slor"] - r["logprob"],
            ("§4.2", "BIC(MORCELA, beta = 1) - BIC(MORCELA) > 0"): (
                by_name.loc["morcela_beta_1", "bic"] - morcela["bic"]
            ),
            ("§4.3", "gamma > 0"): morcela["gamma"],
            ("§4.3", "1 - beta > 0"): 1 - morcela["beta"],
        }
        simulated = group["rating_source"].iloc[0] == "simulated"
        note = "simulated ratings" if simulated else ""
        rows += [
            claim(
                published,
                item,
                f"{model}/{dataset}",
                text,
                value,
                value > 0,
                scale=scale,
                note=note,
            )
            for (item, text), value in claims.items()
        ]
    return rows
