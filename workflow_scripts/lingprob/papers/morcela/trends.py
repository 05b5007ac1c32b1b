"""Trends of MORCELA over models: how what is fitted goes with their size or r (morcela, §4, §5).

Models differ by chance, and so do sentences: all models are fitted to the same, whose chance moves
the better models' beta and gamma otherwise than the worse ones'. Over models that differ in
nothing but quality a Student's t over models alone found a trend of beta in half of the samples of
sentences (`tests/unit/test_morcela_trends.py`); so the resamples that all models share are in a
trend's interval, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from lingprob.papers.morcela.tables import (
    PAPER_DATASET,
    default_fits,
    kind_of,
    printed_fits,
    with_certain_parameters,
)
from lingprob.papers.run import Published, Run, Tables
from lingprob.scorecard.comparison import Statistic
from lingprob.scorecard.estimates import slope_difference, slope_within, slopes_within, widened
from lingprob.scorecard.verdicts import Estimate

Rows = Iterator[tuple[str, Estimate]]
SIZES = {"millions": 1e6, "billions": 1e9}
# What a reader of a trend over others than models should know.
NOTES = {
    "trainings": "steps of trainings here, of which one depends on that before",
    "n-grams": "orders over one corpus",
}


def trend(x: str, y: str) -> Statistic:
    """Return the statistic that is the slope of y on x over models, within families.

    States of a training and orders of n-grams are no sizes: they are populations of their own, and
    of what has another x than size. There the slope is within each training or corpus.
    """

    def statistic(tables: Tables, run: Run) -> Rows:
        draws = draws_of(tables)
        for about, points in points_of(tables, run).items():
            for kind, chosen in kinds_of(points).items():
                if {x, y} <= set(chosen) and (kind == "models" or x != "size"):
                    known = chosen.dropna(subset=[x, y, "series"])
                    slope = slope_within(known[x], known[y], known["series"])
                    slope = widened(slope, drawn_slopes(draws.get(about), known, x, y))
                    found = _or_why_not(slope, chosen)
                    note = "; ".join(filter(None, [found.note, NOTES.get(kind)]))
                    yield f"{kind}/{about}", replace(found, note=note)

    return statistic


def kinds_of(points: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return points of `points_of` by what varies among them: models, with their family as series;
    the steps of trainings, their ends included; and orders of n-grams. None of what is not there.
    """
    models = points[points["kind"] == "model"]
    found = {"models": models.assign(series=models["family"])} if len(models) else {}
    for kind, title in (("step", "trainings"), ("order", "n-grams")):
        series = points.loc[points["kind"] == kind, "series"]
        if len(series):
            found[title] = points[points["series"].isin(series)]
    return found


def less_in_opt(tables: Tables, run: Run) -> Rows:
    """Slope of r on size in OPT less that in Pythia."""
    draws = draws_of(tables)
    for about, every in points_of(tables, run).items():
        points = every[every["kind"] == "model"]
        if "r" not in points:
            continue
        known = points.assign(series=points["family"]).dropna(subset=["size", "r"])
        slopes = slope_difference(known["size"], known["r"], known["series"], "pythia", "opt")
        pythia, opt = (
            drawn_slopes(draws.get(about), known[known["series"] == name], "size", "r")
            for name in ("pythia", "opt")
        )
        slopes = widened(slopes, opt - pythia)
        yield f"opt and pythia/{about}", _or_why_not(slopes, points)


def _or_why_not(slope: Estimate, points: pd.DataFrame) -> Estimate:
    few = f"too few models for a slope within families: {', '.join(points.index.unique('model'))}"
    return slope if np.isfinite(slope.value) else replace(slope, note=few)


def points_of(tables: Tables, run: Run) -> dict[str, pd.DataFrame]:
    """Return what is known of each model, by data set; `published` is the paper's.

    One row per model. Columns: family; kind (`kind_of`) and series (`palette.describe_models`);
    size, log10 of the parameters; r, slor and logprob (r of MORCELA, SLOR and log-probability);
    gain and gap (r of MORCELA less SLOR's and less that with beta = 1); beta and gamma of MORCELA,
    which `with_certain_parameters` leaves; beta_alone, r_beta_alone, gamma_alone, r_gamma_alone of
    the ablations; and frequency_slope if it was computed (§5).
    """
    fits = with_certain_parameters(default_fits(tables["linking_functions"]))
    wide, found = _wide(fits, ["dataset", "model"], "r_cv"), {}
    names = wide.index.get_level_values("model")
    wide["family"] = [run.models[name]["family"] for name in names]
    wide["kind"] = [kind_of(name, run) for name in names]
    wide["series"] = [run.models[name].get("series", name) for name in names]
    sizes = [run.models[name].get("parameters") for name in names]
    wide["size"] = np.log10(np.array(sizes, float))
    if "frequency_slopes" in tables:
        wide["frequency_slope"] = names.map(
            tables["frequency_slopes"].groupby("model")["slope"].first()
        )
    for dataset, points in wide.groupby(level="dataset", sort=False):
        found[str(dataset)] = points
    if run.published and PAPER_DATASET in found:
        found["published"] = published_points(run.published)
    return found


def published_points(published: Published) -> pd.DataFrame:
    """Return the paper's points as `points_of` does, r from the SSE for all linking functions."""
    fits = printed_fits(published)
    points = _wide(fits, ["model"], "r")
    points["family"] = [name.partition("-")[0] for name in points.index]
    points = points.assign(kind="model", series=points.index)
    return points.assign(size=np.log10(printed_sizes(published)))


def printed_sizes(published: Published) -> pd.Series:
    """Return the parameters of models as Table 1 prints them, by model."""
    sizes = {}
    for item in published["items"]:
        if item["item"] == "Table 1":
            for name, values in item["rows"].items():
                sizes[name.partition("/")[0]] = values[0] * SIZES[item["columns"][0]]
    return pd.Series(sizes)


def draws_of(tables: Tables) -> dict[str, pd.DataFrame]:
    """Return what `points_of` has of fits, of each resample: a row a draw and model, by data set.

    No data set where nothing was resampled.
    """
    if "linking_draws" not in tables:
        return {}
    wide = _wide(tables["linking_draws"], ["dataset", "draw", "model"], "r_cv")
    return {str(name): part.droplevel(0) for name, part in wide.groupby(level=0, sort=False)}


def drawn_slopes(draws: pd.DataFrame | None, points: pd.DataFrame, x: str, y: str) -> np.ndarray:
    """Return the slope of y on x within series over points that are known, in each resample."""
    given = [drawn_values(draws, points, column) for column in (x, y)]
    return slopes_within(given[0], given[1], points["series"])


def drawn_values(draws: pd.DataFrame | None, points: pd.DataFrame, column: str) -> np.ndarray:
    """Return a column of models' points in each resample, of shape (resamples, models).

    A column or model that was not resampled has its point in each; without draws there is one row.
    """
    fixed = points[column].to_numpy(float)
    if draws is None:
        return fixed[None]
    if column not in draws:
        return np.tile(fixed, (draws.index.unique("draw").size, 1))
    names = points.index.get_level_values("model")
    drawn = draws[column].unstack("model").reindex(columns=names).to_numpy(float, copy=True)
    absent = np.isnan(drawn).all(axis=0)
    drawn[:, absent] = fixed[absent]
    return drawn


def _wide(fits: pd.DataFrame, index: Sequence[str], r: str) -> pd.DataFrame:
    """Return what `points_of` has of fits, a row for each of `index`; `r` is their column of r."""
    by = fits.pivot(index=index, columns="linking_function", values=[r, "beta", "gamma"])
    wanted: dict[str, tuple[str, str]] = {
        "r": (r, "morcela"), "slor": (r, "slor"), "logprob": (r, "logprob"),
        "beta": ("beta", "morcela"), "gamma": ("gamma", "morcela"),
        "r_beta_alone": (r, "morcela_gamma_0"), "beta_alone": ("beta", "morcela_gamma_0"),
        "r_gamma_alone": (r, "morcela_beta_1"), "gamma_alone": ("gamma", "morcela_beta_1"),
    }  # fmt: skip
    columns = {name: by[key].astype(float) for name, key in wanted.items() if key in by}
    points = pd.DataFrame(columns, index=by.index).dropna(axis="columns", how="all")
    if {"r", "slor", "r_gamma_alone"} <= set(points):
        points["gain"] = points["r"] - points["slor"]
        points["gap"] = points["r"] - points["r_gamma_alone"]
    return points
