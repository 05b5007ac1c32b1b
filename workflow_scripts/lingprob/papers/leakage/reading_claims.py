"""Judge effects of size and leakage on the fit of surprisal to reading times (leakage, §3.2).

Slopes are within one family and one state of fine-tuning. Families and states differ in their mean
ΔLogLik, which would hide a slope within them or create one.
"""

import math
from typing import Any

import pandas as pd

from lingprob.papers.run import Found, Run, Tables, statistic
from lingprob.scorecard.comparison import Quantities, Statistic, score
from lingprob.scorecard.estimates import student
from lingprob.scorecard.verdicts import NOTHING, Estimate

TRAINED = "trained"  # the family of models that a run trains
# Parameters of the smallest model of the paper (Table 1: 3 layers of width 256, 50,304 tokens).
SMALLEST = 28_000_000


def surprisal_predicts(tables: Tables, run: Run) -> Found:
    """Yield ΔLogLik (nats) of every model and data set."""
    for row in tables["delta_log_likelihood"].itertuples():
        note = joined("singular fit" if row.singular else "", _source(row))
        ends = float(row.delta_low), float(row.delta_high)
        yield f"{row.model}/{row.dataset}", Estimate(float(row.delta), *ends, note=note)


@statistic
def trends(tables: Tables, run: Run, of: str, name: str, *, trained: bool) -> Found:
    """Yield the `slope` of a trend on log10 parameters, or its `change` by fine-tuning.

    `name` is `delta` (ΔLogLik) or `log_perplexity` (of words). If `trained`, there is one for
    each number of fine-tuning steps of the models that the run trains, else one for each family of
    other models. Checkpoints before the end of a training do not count.
    """
    table = tables["reading_trends"]
    wanted = (table["of"] == of) & (table["on"] == "parameters") & table["training_step"].isna()
    wanted &= (table["family"] == TRAINED) == trained
    if name == "change":
        wanted &= table["fine_tuning_steps"] > 0
    for row in table[wanted].itertuples():
        about = f"{row.dataset}/{row.family}, {row.context} context"
        if row.context == "imported" and pd.notna(row.corrected):
            about += ", corrected" if row.corrected else ", uncorrected"
        about += f", {row.convention}" if row.convention else ""
        about += f", {row.fine_tuning_steps} fine-tuning steps" if row.fine_tuning_steps else ""
        yield about, _estimate(row, name)


def exploratory_share(tables: Tables, run: Run) -> Found:
    """Yield the number of exploratory over that of fitted reading times, by data set."""
    counts = tables["reading_counts"]
    for dataset, part in counts.groupby("dataset", sort=False):
        rows = part.groupby("fate")["rows"].sum()
        if rows.get("fit", 0) and "exploratory" in rows:
            yield str(dataset), Estimate.exact(float(rows["exploratory"] / rows["fit"]))


STATISTICS: dict[str, Statistic] = {
    "surprisal_predicts_reading_times": surprisal_predicts,
    "fit_falls_with_size": trends("delta", "slope", trained=True),
    "fit_falls_with_size_of_pretrained_models": trends("delta", "slope", trained=False),
    "leakage_steepens_the_fall": trends("delta", "change", trained=True),
    "fine_tuning_lowers_perplexity_of_larger_models_more": trends(
        "log_perplexity", "change", trained=True
    ),
    "exploratory_partition_is_half_the_fit_partition": exploratory_share,
}


def _estimate(row: Any, name: str) -> Estimate:
    """Return a trend's slope or change with its interval, over resamples if any, else models."""
    value = float(getattr(row, name))
    if not math.isfinite(value):
        return NOTHING
    low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
    units = "" if pd.isna(low) else f", {row.items} {row.resampled}"
    outside = outside_range(row.largest) if row.family == TRAINED else ""
    note = joined(f"{row.models} models{units}", outside, _source(row))
    if pd.isna(low):  # only a slope: a known change always has resampled units
        return student(value, row.std_error, row.models - 2, row.models, note)
    return Estimate(value, float(low), float(high), int(row.items), note)


def outside_range(largest: float) -> str:
    """Return a note if the largest model is smaller than the paper's smallest model, else ''."""
    note = f"smaller than the paper's: at most {largest:,.0f} parameters"
    return note if largest < SMALLEST else ""


def _source(row: Any) -> str:
    return "simulated reading times" if row.rt_source == "simulated" else ""


def joined(*notes: str) -> str:
    """Return the notes that are not empty, joined by semicolons."""
    return "; ".join(filter(None, notes))


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Return the `scorecard` of surprisal and reading times.

    Tables are `delta_log_likelihood`, `reading_trends`, `reading_counts` and, if the published fits
    are reproduced, `published_delta`.
    """
    ours = reading_quantities(tables["reading_counts"], tables.get("published_delta"))
    return score(STATISTICS, tables, ours, run)


def reading_quantities(counts: pd.DataFrame, fits: pd.DataFrame | None) -> Quantities:
    """Return the run's numbers by (row, column) as `published/reading.yaml` names them.

    All numbers are exact: counts, and fits to the published surprisals and times.
    """
    found = {
        (str(row.dataset), str(row.fate)): Estimate.exact(float(row.rows))
        for row in counts.itertuples()
    }
    if fits is None:
        return found
    for fit in fits[fits["convention"] == "compat"].itertuples():
        model = str(fit.model)
        found[(model, "delta")] = Estimate.exact(float(fit.delta), str(fit.description))
        found[(model, "perplexity")] = Estimate.exact(float(fit.word_perplexity))
        found[(model, "n")] = Estimate.exact(float(fit.n))
    return found
