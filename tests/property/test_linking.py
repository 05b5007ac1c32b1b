"""The vectorised cross-validation and bootstrap against loops over statsmodels fits."""

from typing import Any

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t
from statsmodels.regression.linear_model import OLS

from lingprob.stats.linking import fit_linking_functions
from lingprob.stats.resampling import fold_numbers, resample_counts

Data = dict[str, Any]

seeds = st.integers(0, 2**32 - 1)


@st.composite
def data_sets(draw: st.DrawFn) -> tuple[Data, np.ndarray | None]:
    """Sentences with ratings that depend on them more or less, and perhaps pairs."""
    generator = np.random.default_rng(draw(seeds))
    n = draw(st.integers(40, 70))
    n_tokens = generator.integers(3, draw(st.integers(12, 40)), n)
    unigram_logprob = -generator.uniform(4, 12, n) * n_tokens
    logprob = draw(st.floats(0.2, 1.2)) * unigram_logprob + generator.normal(0, 5, n)
    logprob = np.minimum(logprob, 0)
    score = (logprob - 0.7 * unigram_logprob + 10) / n_tokens
    rating = draw(st.floats(-2, 2)) * score + generator.normal(0, draw(st.floats(0.1, 2)), n)
    pairs = generator.permutation(np.arange(n) // 2) if draw(st.booleans()) else None
    data = {
        "logprob": logprob, "unigram_logprob": unigram_logprob, "n_tokens": n_tokens,
        "rating": rating,
    }  # fmt: skip
    return data, pairs


def design(name: str, data: Data) -> np.ndarray:
    p, u, length = data["logprob"], data["unigram_logprob"], data["n_tokens"]
    columns = {
        "logprob": [p], "mean_logprob": [p / length], "slor": [(p - u) / length],
        "morcela": [p / length, u / length, 1 / length],
        "morcela_beta_1": [(p - u) / length, 1 / length],
        "morcela_gamma_0": [p / length, u / length],
    }[name]  # fmt: skip
    return np.column_stack([np.ones(len(p)), *columns])


def r_of(name: str, x: np.ndarray, y: np.ndarray, test_x: np.ndarray, test_y: np.ndarray) -> float:
    if name in ("logprob", "mean_logprob", "slor"):
        prediction = test_x[:, 1]
    else:
        prediction = OLS(y, x).fit().predict(test_x)
    return float(np.corrcoef(prediction, test_y)[0, 1])


def cross_validated(
    name: str, x: np.ndarray, y: np.ndarray, fold_of: np.ndarray, folds: int
) -> float:
    """Mean r over the test folds, each predicted by a fit to the others, or nan if one is empty."""
    r = []
    for fold in range(folds):
        test = fold_of == fold
        if not test.any():
            return np.nan
        r.append(r_of(name, x[~test], y[~test], x[test], y[test]))
    return float(np.mean(r))


def wider(value: float, ends: tuple[float, float], unit: np.ndarray, limit: float) -> np.ndarray:
    """Widen a 90% interval for few units: Student's t of their effective number, by its formula."""
    sizes = np.bincount(unit).astype(float)
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    freedom = (sizes**2).sum() ** 2 / (sizes**4).sum() - 1
    factor = t.ppf(0.95, freedom) / norm.ppf(0.95) * np.sqrt(effective / (effective - 1))
    return np.clip(value + factor * (np.array(ends) - value), -limit, limit)


def loops(name: str, data: Data, unit: np.ndarray, cluster: np.ndarray, folds: int, repeats: int,
          bootstrap: int, seed: int) -> dict[str, float]:  # fmt: skip
    """Cross-validate and resample row by row; a resample repeats its rows."""
    x, y, units = design(name, data), data["rating"], unit.max() + 1
    shuffles = [
        shuffle[unit]
        for shuffle in fold_numbers(units, folds, repeats, np.random.default_rng([seed, 0]))
    ]
    averages = [cross_validated(name, x, y, fold_of, folds) for fold_of in shuffles]
    drawn: dict[str, list[float]] = {"r": [], "logprob_slope": [], "beta": [], "gamma": []}
    held_out = []
    resampled = resample_counts(cluster.max() + 1, bootstrap, np.random.default_rng([seed, 1]))
    for draw, counts in enumerate(resampled):
        rows = [row for row in range(len(y)) for _ in range(counts[cluster[row]])]
        fold_of = shuffles[draw % repeats]
        held_out.append(cross_validated(name, x[rows], y[rows], fold_of[rows], folds))
        drawn["r"].append(r_of(name, x[rows], y[rows], x[rows], y[rows]))
        slopes = OLS(y[rows], x[rows]).fit().params
        drawn["logprob_slope"].append(slopes[1])
        if name in ("morcela", "morcela_gamma_0"):
            drawn["beta"].append(-slopes[2] / slopes[1])
        if name in ("morcela", "morcela_beta_1"):
            drawn["gamma"].append(slopes[-1] / slopes[1])
    value = float(np.mean(averages))
    low, high = np.nanpercentile(held_out, [5, 95]) - np.nanmean(held_out) + value
    low, high = wider(value, (low, high), cluster, 1)
    expected = {"r_cv": value, "r_cv_low": low, "r_cv_high": high}
    model, (n, k) = OLS(y, x).fit(), x.shape
    params, level = model.params, n * np.log(model.ssr / n)
    expected |= {"sse": model.ssr, "aic": level + 2 * k, "bic": level + k * np.log(n)}
    whole = {"r": r_of(name, x, y, x, y), "logprob_slope": params[1]}
    whole |= {"beta": -params[2] / params[1] if drawn["beta"] else np.nan}
    whole |= {"gamma": params[-1] / params[1] if drawn["gamma"] else np.nan}
    expected |= {key: value for key, value in whole.items() if not np.isnan(value)}
    expected["r_cv_shuffle_sd"] = float(np.std(averages))
    for column, values in drawn.items():
        low, high = np.percentile(values, [5, 95]) if values else (np.nan, np.nan)
        limit = 1 if column == "r" else np.inf
        low, high = wider(whole[column], (low, high), cluster, limit)
        expected |= {f"{column}_low": low, f"{column}_high": high}
    return expected


@settings(deadline=None, max_examples=25)
@given(data_sets(), st.integers(2, 4), seeds)
def test_matches_loops_over_fits(
    drawn: tuple[Data, np.ndarray | None], folds: int, seed: int
) -> None:
    data, pairs = drawn
    unit = np.arange(len(data["rating"])) if pairs is None else pd.factorize(pairs)[0]
    cluster = unit // 2  # of two units that folds may divide
    options: dict[str, Any] = {"folds": folds, "repeats": 3, "bootstrap": 15, "seed": seed}
    fits = fit_linking_functions(**data, **options, confidence=0.9, together=unit, clusters=cluster)
    for _, row in fits.iterrows():
        expected = loops(row.linking_function, data, unit, cluster, **options)
        np.testing.assert_allclose(
            row[list(expected)].to_numpy(float), list(expected.values()), rtol=1e-9, atol=1e-9
        )


@settings(deadline=None, max_examples=20)
@given(data_sets(), st.floats(0.1, 10), st.floats(-5, 5), st.floats(0.1, 10))
def test_units_of_rating_and_logprob_do_not_matter(
    drawn: tuple[Data, np.ndarray | None], scale: float, shift: float, nats: float
) -> None:
    data, pairs = drawn
    moved = {
        "logprob": nats * data["logprob"], "unigram_logprob": nats * data["unigram_logprob"],
        "n_tokens": data["n_tokens"], "rating": scale * data["rating"] + shift,
    }  # fmt: skip
    units: dict[str, Any] = {"together": pairs, "clusters": pairs}
    options: dict[str, Any] = {"repeats": 2, "bootstrap": 10, "folds": 3, **units}
    before, after = (fit_linking_functions(**each, **options) for each in (data, moved))
    same = [c for c in before.columns if c.startswith(("r_", "r", "beta", "predictors"))]
    pd.testing.assert_frame_equal(before[same], after[same], rtol=1e-7)
    gammas = ["gamma", "gamma_low", "gamma_high"]
    pd.testing.assert_frame_equal(nats * before[gammas], after[gammas], rtol=1e-7)
    slopes = ["logprob_slope", "logprob_slope_low", "logprob_slope_high"]
    pd.testing.assert_frame_equal(before[slopes] * scale / nats, after[slopes], rtol=1e-7)
    pd.testing.assert_series_equal(scale**2 * before.sse, after.sse, rtol=1e-7)
