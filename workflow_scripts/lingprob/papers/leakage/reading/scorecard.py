"""Reading times: the published fits, Table 2's counts, and the inverse scaling effect."""

from __future__ import annotations

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.papers.leakage.reading.claims import STATISTICS
from lingprob.scorecard.comparison import Quantities, compare_numbers, judge_claims, make_scorecard
from lingprob.scorecard.verdicts import Estimate


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare what the literature states of surprisal and reading times with ours.

    Takes `deltas`, `trends`, `counts` and, where the scale reproduces the published fits,
    `published`; returns a `scorecard`.
    """
    claims = judge_claims(published, STATISTICS, tables, run)
    ours = reading_quantities(tables["counts"], tables.get("published"))
    return make_scorecard(claims + compare_numbers(published, ours, run.scale))


def reading_quantities(counts: pd.DataFrame, fits: pd.DataFrame | None) -> Quantities:
    """Return our numbers by (row, column) as `published/reading.yaml` names them.

    All are exact: counts, and fits to the published surprisals and times, which have no chance.
    """
    found: Quantities = {}
    for row in counts.itertuples():
        found[(str(row.dataset), str(row.fate))] = Estimate.exact(float(row.rows))
    if fits is None:
        return found
    for fit in fits.itertuples():
        model, delta = str(fit.model), float(fit.delta)
        if fit.convention == "compat":
            found[(model, "delta")] = Estimate.exact(delta, str(fit.description))
            found[(model, "perplexity")] = Estimate.exact(float(fit.word_perplexity))
            found[(model, "n")] = Estimate.exact(float(fit.n))
    return found
