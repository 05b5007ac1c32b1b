"""What MORCELA claims, computed from tables of fits: an interval for every population.

A population is a model on a data set, or all models of a data set; the published numbers are one
more data set of the latter, so that the same statistic judges the paper and us.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from lingprob.papers.contract import Run, Tables
from lingprob.papers.ladder import of_models
from lingprob.papers.morcela.fits import default_fits, may_lack_logprob
from lingprob.papers.morcela.trends import less_in_opt, trend
from lingprob.scorecard.comparison import Statistic
from lingprob.scorecard.verdicts import Estimate

Rows = Iterator[tuple[str, Estimate]]
# OPT models and the Pythia models of about their size, by name.
SMALL = {"opt-125m": "pythia-160m", "opt-350m": "pythia-410m"}
# A difference of BIC of less than 2 is "not worth more than a bare mention" (Kass & Raftery 1995).
NO_EVIDENCE = 2.0
WITHOUT_SLOPE = "the slope of log-probability may be 0"


def compare_models(linking_function: str, column: str, models: tuple[str, ...] = ()) -> Statistic:
    """Return the statistic that is a column of one linking function, for each (or some) model."""

    def statistic(tables: Tables, run: Run) -> Rows:
        fits = judged_fits(tables, run)
        for fit in fits[fits["linking_function"] == linking_function].to_dict("records"):
            if not models or fit["model"] in models:
                yield population(fit), estimate_of(fit, column)

    return statistic


def judged_fits(tables: Tables, run: Run) -> pd.DataFrame:
    """Return the default fits of all models but those that stand for a trend alone: what a training
    kept on its way, and orders of n-grams."""
    fits = default_fits(tables["linking_functions"])
    return of_models(fits, run.options.get("ladder", {}))


def estimate_of(fit: dict, column: str) -> Estimate:
    """Return a fit's estimate with its interval, and whether the ratings are people's.

    Beta and gamma have no interval where the slope of log-probability may be 0.
    """
    value, low, high = (float(fit[column + end]) for end in ("", "_low", "_high"))
    if column in ("beta", "gamma") and may_lack_logprob(fit):
        return Estimate(value, np.nan, np.nan, int(fit["n"]), WITHOUT_SLOPE)
    return Estimate(value, low, high, int(fit["n"]), note_on(fit["rating_source"]))


def note_on(rating_source: str) -> str:
    """Return what a reader should know of the ratings."""
    return "simulated ratings" if rating_source == "simulated" else ""


def population(fit: dict) -> str:
    """Return the name of the population that a fit is of."""
    return f"{fit['model']}/{fit['dataset']}"


def bic_difference(tables: Tables, run: Run) -> Rows:
    """BIC of MORCELA with beta = 1 less MORCELA's; less than 2 decides nothing."""
    fits = judged_fits(tables, run)
    for (model, dataset), group in fits.groupby(["model", "dataset"], sort=False):
        bic = group.set_index("linking_function")["bic"]
        if {"morcela", "morcela_beta_1"} <= set(bic.index):
            value = float(bic["morcela_beta_1"] - bic["morcela"])
            ends = (value - NO_EVIDENCE, value + NO_EVIDENCE)
            note = note_on(group["rating_source"].iloc[0])
            yield f"{model}/{dataset}", Estimate(value, *ends, note=note)


def small_models(tables: Tables, run: Run) -> Rows:
    """R of MORCELA for small OPT models less that of Pythia models of about their size.

    The interval of the difference takes both r as independent, which it is wider for.
    """
    fits = judged_fits(tables, run)
    fits = fits[fits["linking_function"] == "morcela"]
    for dataset, group in fits.groupby("dataset", sort=False):
        by_model = group.set_index("model")
        for opt, pythia in SMALL.items():
            if {opt, pythia} <= set(by_model.index):
                pair = by_model.loc[[opt, pythia]]
                r = pair["r_cv"]
                value = float(r.iloc[0] - r.iloc[1])
                below, above = r - pair["r_cv_low"], pair["r_cv_high"] - r
                low = value - np.hypot(below.iloc[0], above.iloc[1])
                high = value + np.hypot(above.iloc[0], below.iloc[1])
                yield f"{opt}/{pythia}/{dataset}", Estimate(value, low, high, int(pair["n"].min()))


def people_less_models(tables: Tables, run: Run) -> Rows:
    """R between halves of the judgments less MORCELA's r: the ends of both intervals."""
    fits, halves = judged_fits(tables, run), tables["intergroup_correlation"]
    halves = halves[halves["definition"] == "equal_halves"].set_index("dataset")
    for fit in fits[fits["linking_function"] == "morcela"].to_dict("records"):
        if fit["dataset"] in halves.index:
            people, model = halves.loc[fit["dataset"]], estimate_of(fit, "r_cv")
            low, high = people["r_low"] - model.high, people["r_high"] - model.low
            value = float(people["r"]) - model.value
            yield population(fit), Estimate(value, low, high, model.n, model.note)


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
    "people_above_models": people_less_models,
}
