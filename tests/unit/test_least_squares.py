"""Least squares whatever the predictors' units."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from lingprob.stats.least_squares import fit_least_squares


def test_a_predictor_s_unit_changes_only_its_coefficient():
    numbers = np.random.default_rng(1)
    frame = pd.DataFrame(numbers.normal(size=(40, 2)), columns=["a", "y"])
    frame["flag"] = np.arange(40.0) % 2  # from 0 to 1
    fit = fit_least_squares(frame, "y", ["a", "flag"])
    small = fit_least_squares(frame.assign(a=1e-11 * frame["a"]), "y", ["a", "flag"])
    expected = fit.coefficients * [1, 1e11, 1]
    assert small.coefficients.to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-6)
    assert small.log_likelihood == pytest.approx(fit.log_likelihood)


def test_other_data_have_the_density_of_the_fitted_errors():
    numbers = np.random.default_rng(2)
    frame = pd.DataFrame(numbers.normal(size=(50, 2)), columns=["a", "y"])
    fit, other = fit_least_squares(frame[:30], "y", ["a"]), frame[30:]
    intercept, slope = np.polyfit(frame["a"][:30], frame["y"][:30], 1)[::-1]
    left = frame["y"] - intercept - slope * frame["a"]
    expected = norm(0, np.sqrt((left[:30] ** 2).mean())).logpdf(left[30:])
    np.testing.assert_allclose(fit.log_likelihoods(other), expected)
