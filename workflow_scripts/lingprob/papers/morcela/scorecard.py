"""MORCELA's numbers and claims against ours."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd

from lingprob.papers.contract import Published, Run, Tables
from lingprob.papers.morcela.claims import STATISTICS, estimate_of
from lingprob.papers.morcela.fits import PAPER_DATASET, default_fits
from lingprob.papers.morcela.trends import SIZES, printed_sizes
from lingprob.scorecard.comparison import Quantities, compare_numbers, judge_claims, make_scorecard
from lingprob.scorecard.verdicts import Estimate

# The sentences of Figure 1.
EXAMPLES = {
    "acceptable": "It is silly for one to sing in the shower.",
    "borderline": "Tanya danced with as handsome a boy as her father.",
    "unacceptable": "It seems a cat to be in the tree.",
}


def compare(tables: Tables, published: Published, run: Run) -> pd.DataFrame:
    """Compare MORCELA's numbers and claims with ours; return a `scorecard` table.

    Tables: `linking_functions`, `intergroup_correlation`, `stimuli` with their `dataset` and, where
    §5 was computed, `slopes`.
    """
    numbers = compare_numbers(published, morcela_quantities(tables, published, run), run.scale)
    claims = judge_claims(published, STATISTICS, tables, replace(run, published=published))
    return make_scorecard(numbers + claims)


def morcela_quantities(tables: Tables, published: Published, run: Run) -> Quantities:
    """Return our estimates by (row, column) as the published numbers name them.

    Only the paper's data set and each model's default conventions count.
    """
    fits = default_fits(tables["linking_functions"])
    fits = fits[fits["dataset"] == PAPER_DATASET]
    halves = tables["intergroup_correlation"]
    halves = halves[(halves["dataset"] == PAPER_DATASET) & (halves["definition"] == "equal_halves")]
    found = _sentences(tables["stimuli"]) | _sizes(published, run) | _gains(fits, halves)
    for fit in fits.to_dict("records"):
        row, note = f"{fit['model']}/{fit['linking_function']}", f"{fit['bos']}, {fit['unigrams']}"
        for column in ("beta", "gamma", "r_cv"):
            estimate = estimate_of(fit, column)
            notes = filter(None, [note, estimate.note])
            found[row, column] = replace(estimate, note="; ".join(notes))
        for column in ("aic", "bic", "sse"):
            found[row, column] = Estimate.exact(float(fit[column]), note)
    for half in halves.itertuples():
        ends = (float(half.r), float(half.r_low), float(half.r_high))
        about = Estimate(*ends, note=str(half.description))
        found[f"{PAPER_DATASET}/intergroup_correlation", "r"] = about
    return found


def _sentences(stimuli: pd.DataFrame) -> Quantities:
    """How many sentences there are, and the mean ratings of those in Figure 1."""
    found: Quantities = {}
    paper = stimuli[stimuli["dataset"] == PAPER_DATASET]
    if len(paper):
        found[f"{PAPER_DATASET}/sentences", "value"] = Estimate.exact(float(len(paper)))
    for name, text in EXAMPLES.items():
        ratings = paper.loc[paper["text"] == text, "rating"]
        if len(ratings):
            found[f"{PAPER_DATASET}/{name}", "rating"] = Estimate.exact(float(ratings.iloc[0]))
    return found


def _sizes(published: Published, run: Run) -> Quantities:
    """Parameters of the models of this run, in the unit that Table 1 has for each."""
    found: Quantities = {}
    for model, printed in printed_sizes(published).items():
        parameters = run.models.get(model, {}).get("parameters")
        unit = "billions" if printed >= SIZES["billions"] else "millions"
        if parameters:
            found[f"{model}/parameters", unit] = Estimate.exact(parameters / SIZES[unit])
    return found


def _gains(fits: pd.DataFrame, halves: pd.DataFrame) -> Quantities:
    """What MORCELA gains over log-probability and over SLOR, and what part of the error that is.

    The error is what SLOR's r lacks of the r between halves of the judgments (morcela, §4.1);
    where it lacks nothing there is none to reduce.
    """
    found: Quantities = {}
    for model, group in fits.groupby("model", sort=False):
        by_name = {fit["linking_function"]: fit for fit in group.to_dict("records")}
        if not {"morcela", "slor", "logprob"} <= set(by_name):
            continue
        over_slor = estimate_of(by_name["morcela"], "over_slor")
        found[f"{model}/gain", "over_slor"] = over_slor
        found[f"{model}/gain", "over_logprob"] = estimate_of(by_name["logprob"], "below_morcela")
        error = float(halves["r"].iloc[0]) - by_name["slor"]["r_cv"] if len(halves) else 0.0
        if error > 0:
            value, low, high = (
                100 * end / error for end in (over_slor.value, over_slor.low, over_slor.high)
            )
            found[f"{model}/gain", "error_reduction"] = Estimate(value, low, high, over_slor.n)
    return found
