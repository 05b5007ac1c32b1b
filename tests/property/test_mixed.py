"""Mixed models: deviance and derivatives against dense matrices, optima against searches."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal

from lingprob.stats.linear_mixed.fit import fit_mixed_models
from lingprob.stats.linear_mixed.likelihood import ModelMoments, derivatives, profile
from mixed_data import read

FORMULA = "y ~ a + b + (1 + a | subject_id)"


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Unbalanced groups whose random effects vary much, little, or along one direction."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows, groups = draw(st.integers(30, 80)), draw(st.integers(3, 7))
    frame = pd.DataFrame(generator.normal(size=(rows, 2)), columns=["a", "b"])
    frame["subject_id"] = np.append(
        np.arange(groups), generator.integers(groups, size=rows - groups)
    )
    factor = generator.normal(size=(2, 2)) * draw(st.sampled_from([0.0, 0.1, 1.0, 5.0]))
    factor[:, 0] *= draw(st.sampled_from([0.0, 1.0]))
    effects = (generator.normal(size=(groups, 2)) @ factor.T)[frame["subject_id"]]
    frame["y"] = (
        effects[:, 0] + effects[:, 1] * frame["a"] + frame["b"] + generator.normal(size=rows)
    )
    return frame


def design(frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    x = np.column_stack([np.ones(len(frame)), frame["a"], frame["b"]])
    return x, x[:, :2]


def moments_of(frame: pd.DataFrame) -> ModelMoments:
    x, z = design(frame)
    right = np.column_stack([z, x, frame["y"]])
    groups = frame.groupby("subject_id").indices.values()
    with_z = np.array([z[rows].T @ right[rows] for rows in groups])
    return ModelMoments(with_z, right[:, 2:].T @ right[:, 2:], len(frame))


def dense_deviance(frame: pd.DataFrame, psi: np.ndarray) -> float:
    """Return minus twice the log-likelihood at the best beta and sigma, from n x n matrices."""
    x, z = design(frame)
    same = np.equal.outer(frame["subject_id"].to_numpy(), frame["subject_id"].to_numpy())
    v = np.eye(len(frame)) + same * (z @ psi @ z.T)
    information = x.T @ np.linalg.solve(v, x)
    y = frame["y"].to_numpy()
    residual = y - x @ np.linalg.solve(information, x.T @ np.linalg.solve(v, y))
    variance = residual @ np.linalg.solve(v, residual) / len(y)
    return float(-2 * multivariate_normal(y - residual, variance * v).logpdf(y))


@settings(max_examples=40, deadline=None)
@given(frame=frames(), seed=st.integers(0, 1000))
def test_deviance_and_derivatives(frame: pd.DataFrame, seed: int) -> None:
    factor = np.random.default_rng(seed).normal(scale=0.7, size=(2, 2))
    moments = moments_of(frame)
    at = profile(moments, factor)
    assert at.deviance == pytest.approx(dense_deviance(frame, factor @ factor.T), abs=1e-7)
    gradient, hessian = derivatives(moments, at, factor)
    step = 1e-5
    for place in range(4):
        moved = np.zeros(4)
        moved[place] = step
        ends = [factor + sign * moved.reshape(2, 2) for sign in (1, -1)]
        there = [profile(moments, end) for end in ends]
        slope = (there[0].deviance - there[1].deviance) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-4, rel=1e-5)
        slopes = [derivatives(moments, *pair)[0] for pair in zip(there, ends, strict=True)]
        bend = (slopes[0] - slopes[1]) / (2 * step)
        np.testing.assert_allclose(hessian[place], bend, atol=1e-3, rtol=1e-4)


@settings(max_examples=10, deadline=None)
@given(frame=frames())
def test_no_search_of_the_dense_deviance_does_better(frame: pd.DataFrame) -> None:
    (fit,) = fit_mixed_models(read(frame, [FORMULA]), [FORMULA])
    assert fit.converged
    psi = fit.covariance.to_numpy() / fit.sigma**2
    deviance = -2 * fit.log_likelihood
    assert deviance == pytest.approx(dense_deviance(frame, psi), abs=1e-6)

    def of(theta: np.ndarray) -> float:
        triangle = np.array([[theta[0], 0.0], [theta[1], theta[2]]])
        return dense_deviance(frame, triangle @ triangle.T)

    for start in ([1.0, 0.0, 1.0], [0.1, 0.05, 0.3]):
        found = minimize(of, start, method="Nelder-Mead", options={"xatol": 1e-7, "maxfev": 600})
        assert deviance < found.fun + 2e-6


@settings(max_examples=25, deadline=None)
@given(
    frame=frames(),
    shift=st.floats(-100, 100),
    scale=st.sampled_from([1e-6, 1e-3, 0.03, 1.0, 100.0]),
)
def test_a_predictors_unit_changes_only_its_coefficients(
    frame: pd.DataFrame, shift: float, scale: float
) -> None:
    changed = frame.assign(a=scale * (shift + frame["a"]), y=10 * frame["y"] + 3)
    (before,), (after,) = (
        fit_mixed_models(read(data, [FORMULA]), [FORMULA]) for data in (frame, changed)
    )
    expected = before.log_likelihood - len(frame) * np.log(10)
    assert after.log_likelihood == pytest.approx(expected, abs=1e-6)
    assert after.sigma == pytest.approx(10 * before.sigma, rel=1e-4)
    assert after.fixed_effects["b"] == pytest.approx(10 * before.fixed_effects["b"], abs=1e-3)
    assert after.singular == before.singular


SINGULAR = (
    "y ~ a + b + (1 | subject_id)", "y ~ a + b + (1 + a | subject_id)",
    "y ~ a + b + (1 + a + b | subject_id)", "y ~ a + b + c + (1 + a + b + c | subject_id)",
)  # fmt: skip
# Of these data the deviance has an optimum of rank one and a worse one of rank two.
TWO_OPTIMA = 1637


def few_groups(seed: int) -> tuple[pd.DataFrame, str]:
    """Return data of 3 to 8 groups, many of them with a singular covariance, and a formula."""
    generator = np.random.default_rng(seed)
    q, groups = int(generator.integers(1, 5)), int(generator.integers(3, 9))
    rows = int(generator.integers(groups * q + 5, 120))
    frame = pd.DataFrame(generator.normal(size=(rows, 3)), columns=["a", "b", "c"])
    subject = np.append(np.arange(groups), generator.integers(groups, size=rows - groups))
    factor = generator.normal(size=(4, 4)) * generator.choice([0, 0.1, 0.3, 1, 5])
    factor *= generator.random(4) < 0.6
    effects = (generator.normal(size=(groups, 4)) @ factor.T)[subject]
    frame["subject_id"] = subject
    frame["y"] = effects[:, 0] + (effects[:, 1:] * frame[["a", "b", "c"]].to_numpy()).sum(axis=1)
    frame["y"] += frame["b"] + generator.normal(size=rows)
    return frame, SINGULAR[q - 1]


def test_one_start_at_a_worse_optimum_counts_once() -> None:
    frame, formula = few_groups(TWO_OPTIMA)
    (best,) = fit_mixed_models(read(frame, [formula]), [formula])
    ends = np.array(best.start_log_likelihoods)
    # The first three starts end at the worse optimum, restarts at the better one.
    assert (ends[:3] < best.log_likelihood - 1e-4).all()
    assert (ends > best.log_likelihood - 1e-7).sum() >= 2
    assert best.converged
    assert best.singular
