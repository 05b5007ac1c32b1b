"""What the paper on leakage states of its trained models, against ours."""

from __future__ import annotations

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.papers.leakage.training.claims import STATISTICS
from lingprob.scorecard.comparison import Quantities, compare_numbers, judge_claims, make_scorecard
from lingprob.scorecard.verdicts import Estimate


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare the models' sizes (Table 1), and what fine-tuning does to perplexity (§3.2).

    Takes the tables `perplexity` and `passages`; returns a `scorecard`.
    """
    sizes = tables["perplexity"].drop_duplicates("size")
    ours: Quantities = {
        (str(row.size), "parameters"): Estimate.exact(float(row.parameters))
        for row in sizes.itertuples()
    }
    claims = judge_claims(published, STATISTICS, tables, run)
    return make_scorecard(claims + compare_numbers(published, ours, run.scale))
