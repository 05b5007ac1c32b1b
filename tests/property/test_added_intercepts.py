"""Intercepts by a further factor against the density of all rows at once, and simulated truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lingprob.errors import LingprobError
from lingprob.regression.linear_mixed.added_intercepts import add_intercepts
from lingprob.regression.linear_mixed.crossed_data import CrossedData
from lingprob.regression.linear_mixed.fit import fit_mixed_models
from lingprob.regression.linear_mixed.result import CrossedFit

FORMULAS = ("y ~ a + b + (1 | s)", "y ~ a + b + (1 + a | s)", "y ~ 0 + a + b + (0 + a | s)")


def frame_of(
    seed: int, rows: int, readers: int, words: int, sd: float, word_sd: float
) -> pd.DataFrame:
    """Times y of words w by readers s, whose slopes of a differ; b is one of words."""
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": random.normal(2, 3, rows)})
    frame["s"] = np.append(np.arange(readers), random.integers(readers, size=rows - readers))
    frame["w"] = np.append(np.arange(words), random.integers(words, size=rows - words))
    frame["b"] = random.normal(size=words)[frame["w"]]
    frame["y"] = 300 + 2 * frame["a"] - 3 * frame["b"]
    frame["y"] += sd * random.normal(size=readers)[frame["s"]]
    frame["y"] += sd / 5 * random.normal(size=readers)[frame["s"]] * frame["a"]
    frame["y"] += word_sd * random.normal(size=words)[frame["w"]]
    frame["y"] += 10 * random.normal(size=rows)
    return frame


def fits_of(frame: pd.DataFrame, formula: str) -> CrossedFit:
    data = CrossedData.from_formulas(frame, [f"{formula} + (1 | w)"])
    (without,) = fit_mixed_models(data.by("s"), [formula])
    return add_intercepts(data, without, "w")


def designs(frame: pd.DataFrame, formula: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the columns of fixed and of random effects."""
    ones = np.ones(len(frame))
    fixed = np.column_stack([frame["a"], frame["b"]])
    if "0 +" in formula:
        return fixed, frame[["a"]].to_numpy()
    slopes = [frame["a"]] if "1 + a" in formula else []
    return np.column_stack([ones, fixed]), np.column_stack([ones, *slopes])


def dense(
    frame: pd.DataFrame, formula: str, psi: np.ndarray, word: float
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the deviance at the best beta and sigma, that beta, and its covariance."""
    x, z = designs(frame, formula)
    y = frame["y"].to_numpy()
    v = np.eye(len(frame)) + word * np.equal.outer(frame["w"].to_numpy(), frame["w"].to_numpy())
    v += np.equal.outer(frame["s"].to_numpy(), frame["s"].to_numpy()) * (z @ psi @ z.T)
    information = x.T @ np.linalg.solve(v, x)
    beta = np.linalg.solve(information, x.T @ np.linalg.solve(v, y))
    residual = y - x @ beta
    variance = residual @ np.linalg.solve(v, residual) / len(y)
    deviance = np.linalg.slogdet(v)[1] + len(y) * (1 + np.log(2 * np.pi * variance))
    return float(deviance), beta, variance * np.linalg.inv(information)


@settings(max_examples=12, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    formula=st.sampled_from(FORMULAS),
    sd=st.sampled_from([0.0, 5.0, 40.0]),
    word_sd=st.sampled_from([0.0, 5.0, 40.0]),
)
def test_no_search_of_the_dense_deviance_does_better(seed, formula, sd, word_sd):
    frame = frame_of(seed, 80, 6, 12, sd, word_sd)
    fit = fits_of(frame, formula)
    of_reader, of_word = (each.to_numpy() / fit.sigma**2 for each in fit.covariances)
    deviance, beta, covariance = dense(frame, formula, of_reader, float(of_word[0, 0]))
    assert -2 * fit.log_likelihood == pytest.approx(deviance, abs=1e-6)
    np.testing.assert_allclose(fit.fixed_effects, beta, atol=1e-6)
    np.testing.assert_allclose(fit.fixed_covariance, covariance, atol=1e-6)
    q = len(of_reader)

    def of(theta: np.ndarray) -> float:
        root = theta[:-1].reshape(q, q)
        return dense(frame, formula, root @ root.T, theta[-1] ** 2)[0]

    near = minimize(of, np.append(np.eye(q).ravel(), 0.5), method="L-BFGS-B")
    assert deviance < near.fun + 1e-5
    assert fit.converged


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), word_sd=st.sampled_from([0.0, 10.0]))
def test_it_is_the_fit_that_a_search_from_many_starts_finds(seed, word_sd):
    frame = frame_of(seed, 120, 8, 20, 10.0, word_sd)
    formula = f"{FORMULAS[0]} + (1 | w)"
    (sought,) = fit_mixed_models(CrossedData.from_formulas(frame, [formula]), [formula])
    fit = fits_of(frame, FORMULAS[0])
    assert fit.log_likelihood == pytest.approx(sought.log_likelihood, abs=1e-6)
    pd.testing.assert_series_equal(fit.standard_errors, sought.standard_errors, atol=1e-4)
    assert fit.formula == sought.formula
    for ours, theirs in zip(fit.random_effects, sought.random_effects, strict=True):
        pd.testing.assert_frame_equal(ours, theirs, atol=1e-3)
    for ours, theirs in zip(fit.covariances, sought.covariances, strict=True):
        pd.testing.assert_frame_equal(ours, theirs, atol=1e-2)
    assert (fit.n_levels, fit.singular) == (sought.n_levels, sought.singular)


def test_true_variances_and_slopes_are_found():
    """Four hundred words read by forty: intercepts of words do what none of readers can."""
    frame = frame_of(1, 16000, 40, 400, 30.0, 20.0)
    formula = FORMULAS[1]
    fit = fits_of(frame, formula)
    (without,) = fit_mixed_models(CrossedData.from_formulas(frame, [formula]), [formula])
    sd = fit.variances().set_index(["group", "effect"])["sd"]
    assert sd["w", "(Intercept)"] == pytest.approx(20, rel=0.1)
    assert sd["s", "(Intercept)"] == pytest.approx(30, rel=0.3)
    assert sd["s", "a"] == pytest.approx(6, rel=0.3)
    assert fit.sigma == pytest.approx(10, rel=0.02)
    off = (fit.fixed_effects - [300, 2, -3]).abs() / fit.standard_errors
    assert (off < 3).all()
    # Of a predictor of words the error is that of 400, not of 16,000; of a it is readers'.
    assert fit.standard_errors["b"] == pytest.approx(20 / np.sqrt(400), rel=0.15)
    assert without.standard_errors["b"] < 0.3 * fit.standard_errors["b"]
    assert fit.standard_errors["a"] == pytest.approx(without.standard_errors["a"], rel=0.05)


def test_words_that_are_each_read_once_are_refused():
    frame = frame_of(2, 60, 6, 12, 10.0, 10.0).assign(w=np.arange(60))
    with pytest.raises(LingprobError, match="60 rows cannot tell 60 groups"):
        fits_of(frame, FORMULAS[0])
