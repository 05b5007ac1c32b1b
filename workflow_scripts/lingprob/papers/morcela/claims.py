"""Judge MORCELA's numbers and claims by estimates for each population.

A population is a model on a data set, or all models on a data set.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

from lingprob.papers.morcela.tables import (
    AGREEMENT,
    PAPER_DATASET,
    default_fits,
    parameter_differences,
    slope_may_be_zero,
)
from lingprob.papers.morcela.trends import less_in_opt, trend
from lingprob.papers.run import Found, Run, Tables, judged, parameter_counts, statistic
from lingprob.scorecard.comparison import Quantities, Statistic, score
from lingprob.scorecard.verdicts import Estimate

# Pythia models of about the size of small OPT models, by name.
SMALL = {"opt-125m": "pythia-160m", "opt-350m": "pythia-410m"}
# A difference of BIC below 2 is "not worth more than a bare mention" (Kass & Raftery 1995).
NO_EVIDENCE = 2.0
RULE = "2 to either side is a rule of thumb, not an interval"
NOTES = {"human": "", "simulated": "simulated ratings"}
WITHOUT_SLOPE = "the slope of log-probability may be 0"
# The sentences of Figure 1.
EXAMPLES = {
    "acceptable": "It is silly for one to sing in the shower.",
    "borderline": "Tanya danced with as handsome a boy as her father.",
    "unacceptable": "It seems a cat to be in the tree.",
}


@statistic
def compare_models(
    tables: Tables, run: Run, linking_function: str, column: str, models: tuple[str, ...] = ()
) -> Found:
    """Yield a column of one linking function's fits, for all models or only those of `models`."""
    fits = judged(default_fits(tables["linking_functions"]), run)
    for fit in fits[fits["linking_function"] == linking_function].to_dict("records"):
        if not models or fit["model"] in models:
            yield f"{fit['model']}/{fit['dataset']}", estimate_of(fit, column)


def estimate_of(fit: dict, column: str) -> Estimate:
    """Return a column of a fit with its interval, and a note if ratings are simulated.

    Beta and gamma have no interval if the slope of log-probability may be 0.
    """
    if column in ("beta", "gamma") and slope_may_be_zero(fit):
        return Estimate(float(fit[column]), np.nan, np.nan, int(fit["n"]), WITHOUT_SLOPE)
    return Estimate.of(fit, column, fit["n"], NOTES[fit["rating_source"]])


def bic_difference(tables: Tables, run: Run) -> Found:
    """Yield the BIC of MORCELA with beta = 1 minus MORCELA's, per model and data set.

    The interval is the difference plus and minus NO_EVIDENCE.
    """
    fits = judged(default_fits(tables["linking_functions"]), run)
    for (model, dataset), group in fits.groupby(["model", "dataset"], sort=False):
        bic = group.set_index("linking_function")["bic"]
        if {"morcela", "morcela_beta_1"} <= set(bic.index):
            value = float(bic["morcela_beta_1"] - bic["morcela"])
            ends = (value - NO_EVIDENCE, value + NO_EVIDENCE)
            note = "; ".join(filter(None, [RULE, NOTES[group["rating_source"].iloc[0]]]))
            yield f"{model}/{dataset}", Estimate(value, *ends, note=note)


def small_models(tables: Tables, run: Run) -> Found:
    """Yield r of MORCELA for small OPT models minus that of Pythia models of about their size.

    Both models' draws use the same resamples of sentences.
    """
    fits = default_fits(tables["linking_functions"])
    chosen = {*SMALL, *SMALL.values()}
    fits, draws = (table[table["model"].isin(chosen)] for table in (fits, tables["linking_draws"]))
    n = fits.groupby("dataset")["n"].min()
    for row in parameter_differences(fits, draws).to_dict("records"):
        for opt, pythia in SMALL.items():
            pair, sign = (row["model"], row["other"]), 1 if row["model"] == opt else -1
            if set(pair) == {opt, pythia}:
                low, high = sorted(sign * row[f"r_cv{end}"] for end in ("_low", "_high"))
                found = Estimate(sign * row["r_cv"], low, high, int(n[row["dataset"]]))
                yield f"{opt}/{pythia}/{row['dataset']}", found


def people_above_models(tables: Tables, run: Run) -> Found:
    """Yield r between halves of the judgments minus MORCELA's r, per model and data set.

    The ends of its interval are the extreme differences between the two intervals.
    """
    fits = judged(default_fits(tables["linking_functions"]), run)
    halves = tables["intergroup_correlation"]
    halves = halves[halves["definition"] == "equal_halves"].set_index("dataset")
    for fit in fits[fits["linking_function"] == "morcela"].to_dict("records"):
        if fit["dataset"] in halves.index:
            people, model = halves.loc[fit["dataset"]], estimate_of(fit, "r_cv")
            low, high = people["r_low"] - model.high, people["r_high"] - model.low
            value = float(people["r"]) - model.value
            about = f"{fit['model']}/{fit['dataset']}"
            yield about, Estimate(value, low, high, model.n, model.note)


STATISTICS: dict[str, Statistic] = {
    "r_rises_with_size": trend("size", "r"),
    "r_rises_less_in_opt": less_in_opt,
    "small_opt_above_pythia": small_models,
    "morcela_above_slor": compare_models("morcela", "over_slor"),
    "morcela_above_logprob": compare_models("logprob", "below_morcela"),
    "gain_rises_with_size": trend("size", "gain"),
    "gain_rises_with_logprob_r": trend("logprob", "gain"),
    "beta_alone_gains_little": compare_models("morcela_gamma_0", "over_slor"),
    "gamma_alone_gains": compare_models("morcela_beta_1", "over_slor"),
    "gamma_alone_reaches_morcela": compare_models(
        "morcela_beta_1", "below_morcela", ("pythia-14m", "pythia-70m")
    ),
    "gap_to_gamma_alone_rises_with_size": trend("size", "gap"),
    "bic_prefers_morcela": bic_difference,
    "gamma_above_0": compare_models("morcela", "gamma"),
    "beta_below_1": compare_models("morcela", "beta"),
    "beta_above_0": compare_models("morcela", "beta"),
    "gamma_rises_with_r": trend("r", "gamma"),
    "beta_falls_with_r": trend("r", "beta"),
    "gamma_rises_with_size": trend("size", "gamma"),
    "beta_falls_with_size": trend("size", "beta"),
    "gamma_alone_rises_with_r": trend("r_gamma_alone", "gamma_alone"),
    "beta_alone_falls_with_r": trend("r_beta_alone", "beta_alone"),
    "r_falls_with_frequency_slope": trend("frequency_slope", "r"),
    "beta_rises_with_frequency_slope": trend("frequency_slope", "beta"),
    "people_above_models": people_above_models,
}


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Return the `scorecard` table of MORCELA's numbers and claims.

    Tables: `linking_functions`, `linking_draws`, `intergroup_correlation`, `stimuli` and, if §5 was
    computed, `frequency_slopes`.
    """
    return score(STATISTICS, tables, morcela_quantities(tables, run), run)


def morcela_quantities(tables: Tables, run: Run) -> Quantities:
    """Return a run's estimates of the published numbers, by their row and column.

    Estimates are from the paper's data set under each model's default convention.
    """
    every = default_fits(tables["linking_functions"])
    fits = every[every["dataset"] == PAPER_DATASET]
    halves = tables["intergroup_correlation"]
    halves = halves[(halves["dataset"] == PAPER_DATASET) & (halves["definition"] == "equal_halves")]
    found = _sentences(tables["stimuli"]) | _gains(fits, run)
    found |= parameter_counts(every["model"], run)
    for fit in fits.to_dict("records"):
        row, note = f"{fit['model']}/{fit['linking_function']}", f"{fit['bos']}, {fit['unigrams']}"
        for column in ("beta", "gamma", "r_cv"):
            estimate = estimate_of(fit, column)
            notes = filter(None, [note, estimate.note])
            found[row, column] = replace(estimate, note="; ".join(notes))
        for column in ("aic", "bic", "sse"):
            found[row, column] = Estimate.exact(float(fit[column]), note)
    for half in halves.to_dict("records"):
        about = Estimate.of(half, "r", note=half["description"])
        found[AGREEMENT, "r"] = about
    return found


def _sentences(stimuli: pd.DataFrame) -> Quantities:
    """Return the number of sentences, and the mean rating of each sentence in Figure 1."""
    found: Quantities = {}
    paper = stimuli[stimuli["dataset"] == PAPER_DATASET]
    if len(paper):
        found[f"{PAPER_DATASET}/sentences", "value"] = Estimate.exact(float(len(paper)))
    for name, text in EXAMPLES.items():
        ratings = paper.loc[paper["text"] == text, "rating"]
        if len(ratings):
            found[f"{PAPER_DATASET}/{name}", "rating"] = Estimate.exact(float(ratings.iloc[0]))
    return found


def _gains(fits: pd.DataFrame, run: Run) -> Quantities:
    """Return MORCELA's gains in r over log-probability and SLOR, and in % of SLOR's error.

    The error is the printed r between two groups of judgments minus SLOR's r (morcela, §4.1). The
    run's own r between groups would make percentages differ from the paper's.
    """
    found: Quantities = {}
    ceiling = run.printed(AGREEMENT) or np.nan
    for model, group in fits.groupby("model", sort=False):
        by_name = {fit["linking_function"]: fit for fit in group.to_dict("records")}
        if not {"morcela", "slor", "logprob"} <= set(by_name):
            continue
        over_slor = estimate_of(by_name["morcela"], "over_slor")
        found[f"{model}/gain", "over_slor"] = over_slor
        found[f"{model}/gain", "over_logprob"] = estimate_of(by_name["logprob"], "below_morcela")
        error = ceiling - by_name["slor"]["r_cv"]
        if error > 0:
            ends = (over_slor.value, over_slor.low, over_slor.high)
            value, low, high = (100 * end / error for end in ends)
            found[f"{model}/gain", "error_reduction"] = Estimate(value, low, high, over_slor.n)
    return found
