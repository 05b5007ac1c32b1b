"""What size and leakage do to the fit of surprisal to reading times (leakage, Figure 2 and §3.2).

Slopes are within one family and one state of fine-tuning, never over families or states together:
these differ in level, which would hide a slope within them or make one up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pandas as pd
from scipy import stats

from lingprob.papers.run import Run, Tables
from lingprob.scorecard.comparison import (
    Quantities,
    Statistic,
    compare_numbers,
    judge_claims,
    make_scorecard,
)
from lingprob.scorecard.estimates import CONFIDENCE
from lingprob.scorecard.verdicts import NOTHING, Estimate

TRAINED = "trained"  # the family of models that a run trains


def widened(value: float, low: float, high: float, items: int) -> Estimate:
    """Return an estimate whose percentile interval over few drawn items is made wide enough.

    Below two items there is no interval.
    """
    factor = widening(items)
    if math.isnan(factor):
        return Estimate(value, math.nan, math.nan, items)
    return Estimate(
        value,
        min(value, value - factor * (value - low)),
        max(value, value + factor * (high - value)),
        items,
    )


def surprisal_predicts(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield ΔLogLik (nats) of every model and data set, its interval over subjects or sentences."""
    for row in tables["delta_log_likelihood"].itertuples():
        value, low, high = float(row.delta), float(row.delta_low), float(row.delta_high)
        # Means are drawn by sentence, of which there are hundreds.
        found = Estimate(value, low, high)
        if row.regression == "mixed model":
            found = widened(value, low, high, int(row.n_subjects))
        yield f"{row.model}/{row.dataset}", _noted(found, _source(row))


def falls_with_size(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield the slope of ΔLogLik on log10 parameters of the trained models, state by state."""
    yield from _trends(tables, "delta", "slope", trained=True)


def falls_with_size_of_others(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield the same of models that others trained, family by family."""
    yield from _trends(tables, "delta", "slope", trained=False)


def leakage_steepens_the_fall(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield what fine-tuning adds to the slope of ΔLogLik: the interaction of state and size."""
    yield from _trends(tables, "delta", "change", trained=True)


def larger_models_gain_more(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield what fine-tuning adds to the slope of ln word perplexity on log10 parameters."""
    yield from _trends(tables, "log_perplexity", "change", trained=True)


def exploratory_share(tables: Tables, run: Run) -> Iterator[tuple[str, Estimate]]:
    """Yield exploratory reading times by fitted one, of every data set."""
    counts = tables["reading_counts"]
    for dataset, part in counts.groupby("dataset", sort=False):
        rows = part.groupby("fate")["rows"].sum()
        if rows.get("fit", 0) and "exploratory" in rows:
            yield str(dataset), Estimate.exact(float(rows["exploratory"] / rows["fit"]))


STATISTICS: dict[str, Statistic] = {
    "surprisal_predicts_reading_times": surprisal_predicts,
    "fit_falls_with_size": falls_with_size,
    "fit_falls_with_size_of_pretrained_models": falls_with_size_of_others,
    "leakage_steepens_the_fall": leakage_steepens_the_fall,
    "fine_tuning_lowers_perplexity_of_larger_models_more": larger_models_gain_more,
    "exploratory_partition_is_half_the_fit_partition": exploratory_share,
}


def _trends(tables: Tables, of: str, name: str, *, trained: bool) -> Iterator[tuple[str, Estimate]]:
    """Yield the `slope` or its `change` from a `reading_trends` table, of finished models."""
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


def _estimate(row: Any, name: str) -> Estimate:
    """Return a trend's slope or change: over drawn items, or over the models where none are."""
    value = float(getattr(row, name))
    if not math.isfinite(value):
        return NOTHING
    low, high = getattr(row, f"{name}_low"), getattr(row, f"{name}_high")
    if pd.notna(low):
        found = widened(value, float(low), float(high), int(row.items))
        return _noted(found, f"{row.models} models, {row.items} {row.resampled}s", _source(row))
    # A slope alone: changes have items wherever they are known.
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, row.models - 2) * row.std_error)
    found = Estimate(value, value - reach, value + reach, int(row.models))
    return _noted(found, f"{row.models} models", _source(row))


def _source(row: Any) -> str:
    return "simulated reading times" if row.rt_source == "simulated" else ""


def _noted(found: Estimate, *notes: str) -> Estimate:
    note = "; ".join(note for note in notes if note)
    return Estimate(found.value, found.low, found.high, found.n, note)


def widening(items: int) -> float:
    """Return the factor by which a percentile interval over so many drawn items is to be widened.

    It is short by sqrt((n - 1) / n) and takes the normal quantile where Student's t belongs
    (Hesterberg 2015, "What teachers should know about the bootstrap"): with Dundee's ten readers,
    by 18% together. NaN below two items, which give no interval.
    """
    if items < 2:
        return math.nan
    tail = (1 + CONFIDENCE) / 2
    by_student = stats.t.ppf(tail, items - 1) / stats.norm.ppf(tail)
    return float(by_student) * math.sqrt(items / (items - 1))


def compare(tables: Tables, run: Run) -> pd.DataFrame:
    """Compare what the literature states of surprisal and reading times with ours.

    Takes `delta_log_likelihood`, `reading_trends`, `reading_counts` and, where the scale reproduces
    the published fits, `published_delta`; returns a `scorecard`.
    """
    claims = judge_claims(run.published, STATISTICS, tables, run)
    ours = reading_quantities(tables["reading_counts"], tables.get("published_delta"))
    return make_scorecard(claims + compare_numbers(run.published, ours, run.scale))


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
