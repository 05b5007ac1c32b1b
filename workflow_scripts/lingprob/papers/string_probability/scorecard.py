"""The numbers and claims of Hu et al. (2026) against ours."""

from __future__ import annotations

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.papers.string_probability.claims import STATISTICS
from lingprob.papers.string_probability.data import with_panels
from lingprob.scorecard.comparison import Quantities, compare_numbers, judge_claims, make_scorecard
from lingprob.scorecard.verdicts import Estimate

# The data sets of pairs, "280K" together (§1).
PAIRED = ("blimp", "scamp_plausible", "scamp_implausible", "syntaxgym_pairs", "zhoblimp", "sling",
          "li_large", "hll")  # fmt: skip
UNITS = {"millions": 1e6, "billions": 1e9}


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare the paper's numbers and claims with ours; return a `scorecard` table.

    Claims are judged of the models that have panels (`with_panels`). Tables: `correlations`,
    `confounds`, `separation`, `pools`, `toy_stimuli`, `toy_scores` of models with weights, and
    as `counts` makes them `datasets` and `filters`.
    """
    ours = counted(tables["datasets"], tables["filters"])
    numbers = compare_numbers(published, ours | sizes(run), run.scale)
    judged = judged_tables(tables, run)
    return make_scorecard(numbers + judge_claims(published, STATISTICS, judged, run))


def judged_tables(tables: Tables, run: Run) -> Tables:
    """Return the tables with the rows of the models that claims are judged of."""
    return {
        name: with_panels(table, run) if "model" in table else table
        for name, table in tables.items()
    }


def counted(counts: pd.DataFrame, filters: pd.DataFrame) -> Quantities:
    """Return our counts by (row, column) as the published numbers name them."""
    rated = set(filters["dataset"])
    found: Quantities = {}
    for row in counts[~counts["dataset"].isin(rated)].itertuples():
        note = f"{row.identical_pairs} pairs of identical sentences left out"
        found[f"{row.dataset}/counted", "value"] = Estimate.exact(float(row.counted), note)
    for row in filters[filters["used"]].itertuples():
        at = row.comparison.replace("_", " ")
        note = f"edits of {row.unit}, {at} the quantile of {row.population} pairs"
        found[f"{row.dataset}/kept", "value"] = Estimate.exact(float(row.kept), note)
    pairs = counts.set_index("dataset")["counted"].reindex(PAIRED)
    if pairs.notna().all():
        found["all/pairs", "thousands"] = Estimate.exact(float(pairs.sum()) / 1000)
    return found


def sizes(run: Run) -> Quantities:
    """Return the parameters of the models of this run, in both units of Table 1b."""
    return {
        (f"{name}/parameters", unit): Estimate.exact(entry["parameters"] / one)
        for name, entry in run.models.items()
        for unit, one in UNITS.items()
        if entry.get("parameters")
    }
