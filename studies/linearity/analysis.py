"""Regressions of reading times with curves of surprisal in the place of the paper's lines.

The surprisals of a word and of the one before get restricted cubic splines (Harrell 2015, §2.4.5):
a cubic between knots, a line beyond the outer ones. All else, the random effects included, stays as
it was, so that the regression with lines is part of the one with curves.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import norm

from lingprob.errors import LingprobError
from lingprob.papers.leakage.regressions import SUBJECTS, Options, Study
from lingprob.reading.predictors import Predictors, standardised
from lingprob.stats.least_squares import fit_least_squares
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from lingprob.stats.linear_mixed.moments import MixedModelData, parse_formula
from lingprob.stats.resampling import sum_interval, swap_p_values

KNOTS = 5  # of each curve, with 5% of the fitted surprisals beyond either outer one
OUTER_SHARE = 0.05
CURVED = ("surprisal", "previous_surprisal")
SHOWN = (0.005, 0.995)  # quantiles of the fitted surprisals between which curves are given
POINTS = 41
REACH = norm.ppf(0.975)


class Fitted(NamedTuple):
    """A regression with its fixed effects (ms per standard deviation) and their covariance.

    `values` are log-likelihoods (nats) of the evaluated times, by subject (rows) and sentence.
    """

    values: pd.DataFrame
    effects: pd.Series
    covariance: pd.DataFrame
    converged: bool


def surprisal_curves(
    study: Study, deltas: pd.DataFrame, **options: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the gain from curves of surprisal in the regressions of a data set, and the curves.

    Args:
        study: the data.
        deltas: its `delta_log_likelihood` table, whose formulas are fitted again, and with curves.
        options: the fields of the regressions' Options. All rows by cross-validation
            (`partition: subjects`) are not supported.

    Returns:
        One row per model: log-likelihoods (nats) of the evaluated times with lines and with curves,
        their difference (`gain`) with its interval over `items`, and its p-value by swapping line
        and curve within items. Also one row per point of a curve: the effect (ms) of its surprisal
        (bits) relative to the mean of the fitted times, with its pointwise 95% interval.
    """
    chosen = Options(**options)
    if chosen.partition == SUBJECTS:
        raise LingprobError(
            "studies: linearity evaluates a partition. Set reading.partition to one."
        )
    frame, models = study.frame(chosen)
    formulas = deltas.set_index("model")["formula"]
    common = {
        "dataset": study.dataset,
        "rt_source": study.entry.get("rt_source", "human"),
        "n_evaluated": int((frame["partition"] == chosen.partition).sum()),
        "scale": chosen.scale,
    }
    rows, curves = [], []
    for model in models:
        line, curve, points = _compared(
            _own(frame, model),
            str(formulas[model.model]),
            chosen.partition,
            f"{study.about}, model {model.model!r}",
        )
        gain = _gain(line, curve, chosen.bootstrap, chosen.seed)
        rows.append({**common, "model": model.model, **gain})
        curves.append(points.assign(**common, model=model.model))
    return pd.DataFrame(rows), pd.concat(curves, ignore_index=True)


def _gain(line: Fitted, curve: Fitted, bootstrap: int, seed: int) -> dict[str, Any]:
    """Return the part of a row about the gain of curves over lines."""
    gains = (curve.values - line.values).to_numpy()
    low, high = sum_interval(gains, bootstrap, seed)
    side = 1 if len(gains) > 1 else 0  # subjects, or sentences of means
    both = np.column_stack([one.values.sum(axis=side) for one in (curve, line)])
    return {
        "items": len(both),
        "log_likelihood_line": both[:, 1].sum(),
        "log_likelihood_curve": both[:, 0].sum(),
        "gain": gains.sum(),
        "gain_low": low,
        "gain_high": high,
        "p": swap_p_values(both, np.array([0]), np.array([1]), seed)[0],
        "converged": line.converged and curve.converged,
    }


def _own(frame: pd.DataFrame, model: Predictors) -> pd.DataFrame:
    """Return a model's part of a regression frame, its columns in the paper's words."""
    names = {column: model.named(column) for column in (model.surprisal, *model.previous)}
    columns = ["subject_id", "sentence", "partition", "rt_ms", *model.all]
    return frame[columns].rename(columns=names)


def _compared(
    frame: pd.DataFrame, formula: str, partition: str, about: str
) -> tuple[Fitted, Fitted, pd.DataFrame]:
    """Return one model's regressions with lines and with curves, and points of the curves."""
    fit_rows = frame[frame["partition"] == "fit"]
    at = {name: spline_knots(fit_rows[name], f"{about}, {name}") for name in CURVED}
    added = {
        f"{name}_bend_{number}": column
        for name in CURVED
        for number, column in enumerate(bends(frame[name], at[name]).T, start=1)
    }
    raw = frame.assign(**added)
    lines = [name for name in frame if name not in ("subject_id", "sentence", "partition", "rt_ms")]
    columns = [*lines, *added]
    data = standardised(raw, columns, about)
    fitted, evaluated = (data[data["partition"] == name] for name in ("fit", partition))
    if "|" in formula:
        line, curve = _mixed(fitted, evaluated, formula, list(added))
    else:
        line, curve = (_least_squares(fitted, evaluated, names) for names in (lines, columns))
    of_fit = raw[raw["partition"] == "fit"]
    return line, curve, pd.concat([_curve(of_fit, name, at[name], line, curve) for name in CURVED])


def _mixed(
    fitted: pd.DataFrame,
    evaluated: pd.DataFrame,
    formula: str,
    added: Sequence[str],
) -> list[Fitted]:
    """Fit a mixed model's formula, and the same with more fixed effects."""
    line = parse_formula(formula)
    curve = line._replace(fixed=(*line.fixed, *added))
    data = MixedModelData.from_frame(
        fitted, response=line.response, predictors=curve.predictors, group=line.group
    )
    return [
        Fitted(
            fit.held_out_log_likelihoods(evaluated, "sentence").unstack(fill_value=0.0),
            fit.fixed_effects,
            fit.fixed_covariance,
            fit.converged,
        )
        for fit in fit_mixed_models(data, [line, curve])
    ]


def _least_squares(fitted: pd.DataFrame, evaluated: pd.DataFrame, names: list[str]) -> Fitted:
    fit = fit_least_squares(fitted, "rt_ms", names)
    design = np.column_stack([np.ones(len(fitted)), fitted[names].to_numpy(float)])
    variance = fit.sigma**2 * fit.n / (fit.n - design.shape[1])
    covariance = variance * np.linalg.inv(design.T @ design)
    return Fitted(
        pd.Series(fit.log_likelihoods(evaluated))
        .groupby(evaluated["sentence"].to_numpy())
        .sum()
        .to_frame()
        .T,
        fit.coefficients,
        pd.DataFrame(covariance, fit.coefficients.index, fit.coefficients.index),
        True,
    )


def _curve(
    rows: pd.DataFrame, name: str, knots: np.ndarray, line: Fitted, curve: Fitted
) -> pd.DataFrame:
    """Return points of a curve, and of the line in its place, about the mean of the fitted rows.

    `rows` are the fitted ones before their columns were standardised.
    """
    low, high = np.quantile(rows[name], SHOWN)
    bits = np.linspace(low, high, POINTS)
    columns = [name, *(f"{name}_bend_{n}" for n in range(1, len(knots) - 1))]
    at = np.column_stack([bits, bends(bits, knots)])
    of_rows = rows[columns].to_numpy()
    design = (at - of_rows.mean(axis=0)) / of_rows.std(axis=0, ddof=1)
    ms = design @ curve.effects[columns].to_numpy()
    covariance = curve.covariance.loc[columns, columns].to_numpy()
    half = REACH * np.sqrt(np.einsum("ij,jk,ik->i", design, covariance, design))
    return pd.DataFrame(
        {
            "predictor": name,
            "bits": bits,
            "ms": ms,
            "ms_low": ms - half,
            "ms_high": ms + half,
            "line_ms": design[:, 0] * line.effects[name],
        }
    )


def spline_knots(values: ArrayLike, about: str) -> np.ndarray:
    """Return knots at Harrell's quantiles of values (n,), (KNOTS,) in their unit.

    Raises LingprobError, with the name `about`, unless all are different.
    """
    shares = np.linspace(OUTER_SHARE, 1 - OUTER_SHARE, KNOTS)
    knots = np.quantile(np.asarray(values, float), shares)
    if not (np.diff(knots) > 0).all():
        raise LingprobError(
            f"{about}: too many equal values for {KNOTS} knots, which would be at "
            f"{', '.join(f'{knot:.3g}' for knot in knots)}. Use more data."
        )
    return knots


def bends(values: ArrayLike, knots: np.ndarray) -> np.ndarray:
    """Return the columns of the spline besides its line, (n, knots - 2), in the values' unit."""
    x = np.asarray(values, float)[:, None]
    first, before_last, last = knots[0], knots[-2], knots[-1]
    inner = knots[:-2]

    def cubed(knot: np.ndarray) -> np.ndarray:
        return np.maximum(x - knot, 0) ** 3

    gap = last - before_last
    ends = cubed(before_last) * (last - inner) - cubed(last) * (before_last - inner)
    return (cubed(inner) - ends / gap) / (last - first) ** 2
