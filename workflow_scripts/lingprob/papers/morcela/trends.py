"""Estimate trends of MORCELA's parameters with models' size, r or frequency slope (§4, §5).

All models are fitted to the same sample of sentences, which shifts beta and gamma of better and of
worse models differently. Student's t over models ignores this, and finds a trend of beta in half of
the samples even if models differ only in quality. So a trend's interval also includes the spread
over resamples of sentences, which all models share.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from lingprob.papers.morcela.tables import default_fits, with_certain_parameters
from lingprob.papers.run import Found, Run, Tables, judged, statistic
from lingprob.scorecard.comparison import PAPER, role_of
from lingprob.scorecard.estimates import slope_difference, slope_within, slopes_within, widened
from lingprob.scorecard.verdicts import Estimate


@statistic
def trend(tables: Tables, run: Run, x: str, y: str) -> Found:
    """Yield the slope of y on x (columns of `points_of`) over models, within families."""
    for about, known, draws in known_points(tables, run, "models", x, y):
        slope = slope_within(known[x], known[y], known["family"])
        yield about, _or_too_few(widened(slope, drawn_slopes(draws, known, x, y)), known)


def less_in_opt(tables: Tables, run: Run) -> Found:
    """Yield the slope of r on log10 parameters over OPT models minus that over Pythia models."""
    for about, known, draws in known_points(tables, run, "opt and pythia", "size", "r"):
        slopes = slope_difference(known["size"], known["r"], known["family"], "pythia", "opt")
        pythia, opt = (
            drawn_slopes(draws, known[known["family"] == name], "size", "r")
            for name in ("pythia", "opt")
        )
        yield about, _or_too_few(widened(slopes, opt - pythia), known)


def known_points(
    tables: Tables, run: Run, name: str, x: str, y: str
) -> Iterator[tuple[str, pd.DataFrame, pd.DataFrame | None]]:
    """Yield the points with x and y of each population and data set, and the data set's draws."""
    draws = draws_of(tables)
    for dataset, every in points_of(tables, run).items():
        if {x, y} <= set(every):
            for about, points in populations(every, run, name):
                yield f"{about}/{dataset}", points.dropna(subset=[x, y]), draws.get(dataset)


def populations(points: pd.DataFrame, run: Run, name: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Yield the points of the paper's own models, by `name`, and those of all if there are others.

    The name of all models gets the role `also` (`role_of`), so they do not decide the verdict.
    """
    names = points.index.get_level_values("model")
    about_models = {key: value for key, value in run.published.items() if key == "models"}
    own = [role_of(about_models, {}, model, "", run) == PAPER for model in names]
    if any(own):
        yield name, points[own]
    if not all(own):
        yield f"all {name}", points


def _or_too_few(slope: Estimate, points: pd.DataFrame) -> Estimate:
    """Return a slope, or an unknown one whose note names the models if they are too few."""
    names = ", ".join(points.index.unique("model")) or "none"
    note = f"too few models for a slope within families: {names}"
    return slope if np.isfinite(slope.value) else replace(slope, note=note)


def points_of(tables: Tables, run: Run) -> dict[str, pd.DataFrame]:
    """Return, by data set, a table with one row per model on which claims are tested.

    Columns: family, size (log10 of the parameters), r, slor and logprob (r of MORCELA, SLOR and
    log-probability); gain and gap (r of MORCELA minus those of SLOR and of beta = 1), beta and
    gamma of MORCELA unless its slope may be 0, beta_alone, r_beta_alone, gamma_alone and
    r_gamma_alone of the ablations; and frequency_slope if it was computed (§5).
    """
    fits = judged(with_certain_parameters(default_fits(tables["linking_functions"])), run)
    points = _wide(fits, ["dataset", "model"])
    names = points.index.get_level_values("model")
    points["family"] = [run.models[name]["family"] for name in names]
    sizes = [run.models[name].get("parameters") for name in names]
    points["size"] = np.log10(np.array(sizes, float))
    if "frequency_slopes" in tables:
        slopes = tables["frequency_slopes"].groupby("model")["slope"].first()
        points["frequency_slope"] = names.map(slopes)
    return {str(dataset): part for dataset, part in points.groupby(level="dataset", sort=False)}


def draws_of(tables: Tables) -> dict[str, pd.DataFrame]:
    """Return, by data set, columns of `points_of` in each resample, indexed by draw and model.

    Data sets without resamples are left out.
    """
    if "linking_draws" not in tables:
        return {}
    wide = _wide(tables["linking_draws"], ["dataset", "draw", "model"])
    return {str(name): part.droplevel(0) for name, part in wide.groupby(level=0, sort=False)}


def drawn_slopes(draws: pd.DataFrame | None, points: pd.DataFrame, x: str, y: str) -> np.ndarray:
    """Return the slope of y on x within families in each resample, over points without NaN."""
    given = [drawn_values(draws, points, column) for column in (x, y)]
    return slopes_within(given[0], given[1], points["family"])


def drawn_values(draws: pd.DataFrame | None, points: pd.DataFrame, column: str) -> np.ndarray:
    """Return a column of `points` in each resample, shape (resamples, models).

    A column or model without draws has its point estimate in each resample. Without any draws there
    is one row.
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


def _wide(fits: pd.DataFrame, index: Sequence[str]) -> pd.DataFrame:
    """Return the fits' columns of `points_of`, one row per value of `index`."""
    by = fits.pivot(index=index, columns="linking_function", values=["r_cv", "beta", "gamma"])
    wanted = {
        "r": ("r_cv", "morcela"), "slor": ("r_cv", "slor"), "logprob": ("r_cv", "logprob"),
        "beta": ("beta", "morcela"), "gamma": ("gamma", "morcela"),
        "r_beta_alone": ("r_cv", "morcela_gamma_0"), "beta_alone": ("beta", "morcela_gamma_0"),
        "r_gamma_alone": ("r_cv", "morcela_beta_1"), "gamma_alone": ("gamma", "morcela_beta_1"),
    }  # fmt: skip
    columns = {name: by[key].astype(float) for name, key in wanted.items() if key in by}
    points = pd.DataFrame(columns, index=by.index).dropna(axis="columns", how="all")
    if {"r", "slor", "r_gamma_alone"} <= set(points):
        points["gain"] = points["r"] - points["slor"]
        points["gap"] = points["r"] - points["r_gamma_alone"]
    return points
