"""Mixed models with several random terms against the density of all rows at once."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.stats import multivariate_normal, norm

from lingprob.stats.linear_mixed.basis import basis
from lingprob.stats.linear_mixed.blocks import crossed_moments, factors_of
from lingprob.stats.linear_mixed.crossed_data import CrossedData
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from lingprob.stats.linear_mixed.formula import INTERCEPT, parse_formula
from lingprob.stats.linear_mixed.moments import MixedModelData
from lingprob.stats.linear_mixed.objectives import SeveralTerms
from lingprob.stats.linear_mixed.result import CrossedFit, MixedFit

FORMULAS = (
    "y ~ a + b + (1 | s) + (1 | w)",
    "y ~ a + b + (1 + a || s) + (1 | d:w)",
    "y ~ a + b + (1 + a | s) + (1 + b || w)",
    "y ~ a + b + (1 | d) + (0 + a | s) + (1 | w)",
)
BY_ONE = "y ~ a + b + (1 + a || s)"


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    """Readers s and words w of documents d, all crossed or readers of one document each."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = draw(st.integers(50, 90))
    frame = pd.DataFrame(generator.normal(size=(rows, 2)), columns=["a", "b"])
    frame["s"] = np.append(np.arange(6), generator.integers(6, size=rows - 6))
    frame["w"] = np.append(np.arange(8), generator.integers(8, size=rows - 8))
    apart = draw(st.booleans())
    frame["d"] = frame["s"] % 2 if apart else generator.integers(3, size=rows)
    if apart:
        frame["w"] = 2 * (frame["w"] // 2) + frame["d"]
    sd = draw(st.sampled_from([0.0, 0.3, 1.0, 4.0]))
    for name, factor in ((None, "s"), ("a", "s"), (None, "w"), ("b", "w"), (None, "d")):
        effects = sd * draw(st.sampled_from([0.0, 1.0])) * generator.normal(size=8)
        frame["y"] = frame.get("y", 0.0) + effects[frame[factor]] * frame.get(name, 1.0)
    frame["y"] += 3 + frame["b"] + generator.normal(size=rows)
    return frame


def columns(frame: pd.DataFrame, effects: tuple[str, ...]) -> np.ndarray:
    ones = np.ones(len(frame))
    return np.column_stack([ones if name == INTERCEPT else frame[name] for name in effects])


def labels(frame: pd.DataFrame, group: str) -> np.ndarray:
    return frame[group.split(":")].astype(str).agg(":".join, axis=1).to_numpy()


def dense_v(frame: pd.DataFrame, formula: str, psi: list[np.ndarray]) -> np.ndarray:
    """Return I + Z Psi Z', (n, n)."""
    v = np.eye(len(frame))
    for term, own in zip(parse_formula(formula).terms, psi, strict=True):
        z, group = columns(frame, term.effects), labels(frame, term.group)
        v += np.equal.outer(group, group) * (z @ own @ z.T)
    return v


def dense_deviance(frame: pd.DataFrame, v: np.ndarray, reml: bool) -> float:
    """Return minus twice the log-likelihood at the best beta and sigma."""
    x, y = columns(frame, (INTERCEPT, "a", "b")), frame["y"].to_numpy()
    information = x.T @ np.linalg.solve(v, x)
    residual = y - x @ np.linalg.solve(information, x.T @ np.linalg.solve(v, y))
    freedom = len(y) - reml * x.shape[1]
    variance = residual @ np.linalg.solve(v, residual) / freedom
    if not reml:
        return float(-2 * multivariate_normal(y - residual, variance * v).logpdf(y))
    logs = np.linalg.slogdet(v)[1] + np.linalg.slogdet(information)[1]
    return float(logs + freedom * (1 + np.log(2 * np.pi * variance)))


def read(frame: pd.DataFrame, formula: str) -> CrossedData | MixedModelData:
    kind = MixedModelData if formula == BY_ONE else CrossedData
    return kind.from_formulas(frame, [formula])


def psi_of(fit: MixedFit | CrossedFit) -> list[np.ndarray]:
    if isinstance(fit, MixedFit):
        names = [list(term.effects) for term in fit.formula.terms]
        return [fit.covariance.loc[own, own].to_numpy() / fit.sigma**2 for own in names]
    return [covariance.to_numpy() / fit.sigma**2 for covariance in fit.covariances]


@settings(max_examples=12, deadline=None)
@given(
    frame=frames(), formula=st.sampled_from(FORMULAS), reml=st.booleans(), seed=st.integers(0, 1000)
)
def test_deviance_and_gradient(frame: pd.DataFrame, formula: str, reml: bool, seed: int) -> None:
    parsed, data = parse_formula(formula), CrossedData.from_formulas(frame, [formula])
    # Columns of the data's own scale: those of the matrices.
    random = [basis(data, term.effects) for term in parsed.terms]
    random = [type(own)(own.columns, np.eye(len(own.to_own))) for own in random]
    response = np.zeros((len(data.shift), 1))
    response[-1], response[0] = 1, data.shift[-1]
    right = np.hstack([basis(data, parsed.fixed).columns, response])
    factors = factors_of(parsed, {name: len(data.levels(name)) for name in parsed.groups})
    sizes = tuple(len(term.effects) for term in parsed.terms)
    objective = SeveralTerms(crossed_moments(data, factors, random, right), sizes, reml)
    factor = np.random.default_rng(seed).normal(scale=0.7, size=sum(q * q for q in sizes))

    def dense(at: np.ndarray) -> float:
        psi = [own @ own.T for own in objective.split(at)]
        return dense_deviance(frame, dense_v(frame, formula, psi), reml)

    at = objective.profile(factor)
    assert at.deviance == pytest.approx(dense(factor), abs=1e-7)
    gradient, hessian = objective.derivatives(at, factor)
    step = 1e-5
    for place, moved in enumerate(step * np.eye(len(factor))):
        slope = (dense(factor + moved) - dense(factor - moved)) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-4, rel=1e-5)
    np.testing.assert_allclose(hessian, hessian.T)


@settings(max_examples=5, deadline=None)
@given(frame=frames(), formula=st.sampled_from([*FORMULAS, BY_ONE]), reml=st.booleans())
def test_no_search_of_the_dense_deviance_does_better(
    frame: pd.DataFrame, formula: str, reml: bool
) -> None:
    (fit,) = fit_mixed_models(read(frame, formula), [formula], "REML" if reml else "ML")
    assert fit.converged
    deviance = -2 * fit.log_likelihood
    v = dense_v(frame, formula, psi_of(fit))
    assert deviance == pytest.approx(dense_deviance(frame, v, reml), abs=1e-6)
    sizes = [len(term.effects) for term in parse_formula(formula).terms]
    ends = np.cumsum([q * q for q in sizes])[:-1]

    def of(theta: np.ndarray) -> float:
        parts = [own.reshape(q, q) for own, q in zip(np.split(theta, ends), sizes, strict=True)]
        return dense_deviance(frame, dense_v(frame, formula, [own @ own.T for own in parts]), reml)

    first = np.concatenate([0.5 * np.eye(q).ravel() for q in sizes])
    assert deviance < minimize(of, first, method="L-BFGS-B").fun + 2e-6


@settings(max_examples=8, deadline=None)
@given(frame=frames(), formula=st.sampled_from([*FORMULAS, BY_ONE]))
def test_held_out_likelihoods_are_those_of_dense_normal_distributions(
    frame: pd.DataFrame, formula: str
) -> None:
    fitted, other = frame.iloc[10:], frame.assign(s=frame["s"] + 1, y=frame["y"] + frame["a"])
    (fit,) = fit_mixed_models(read(fitted, formula), [formula])
    expected = columns(other, (INTERCEPT, "a", "b")) @ fit.fixed_effects
    v = fit.sigma**2 * dense_v(other, formula, psi_of(fit))
    density = multivariate_normal(expected, v).logpdf(other["y"])
    assert fit.held_out_log_likelihood(other) == pytest.approx(density, rel=1e-8)
    by_row = norm(fit.predict(other), fit.sigma).logpdf(other["y"])
    assert fit.held_out_log_likelihood(other, "conditional", "observation") == pytest.approx(
        by_row.mean(), rel=1e-8
    )
    # Best linear unbiased prediction: Psi Z'V^-1 (y - X beta).
    z_psi = dense_v(fitted, formula, psi_of(fit)) - np.eye(len(fitted))
    residual = fitted["y"] - fit.predict(fitted, random=False)
    modes = z_psi @ np.linalg.solve(z_psi + np.eye(len(fitted)), residual)
    np.testing.assert_allclose(fit.predict(fitted) - fit.predict(fitted, random=False), modes,
                               atol=1e-7)  # fmt: skip


@settings(max_examples=6, deadline=None)
@given(frame=frames(), seed=st.integers(0, 100))
def test_neither_order_nor_names_of_levels_nor_order_of_terms_matter(
    frame: pd.DataFrame, seed: int
) -> None:
    one, other = FORMULAS[2], "y ~ b + a + (1 + b || w) + (a | s)"
    mixed = frame.sample(frac=1, random_state=seed).assign(
        s=lambda rows: "s" + rows["s"].astype(str)
    )
    (fit,), (again,) = (
        fit_mixed_models(CrossedData.from_formulas(rows, [text]), [text])
        for rows, text in ((frame, one), (mixed, other))
    )
    assert fit.log_likelihood == pytest.approx(again.log_likelihood, abs=1e-6)
    pd.testing.assert_series_equal(
        fit.fixed_effects, again.fixed_effects[fit.names], rtol=1e-3, atol=1e-4
    )


@settings(max_examples=6, deadline=None)
@given(frame=frames(), method=st.sampled_from(["ML", "REML"]))
def test_a_formula_with_one_factor_is_fitted_alike_to_either_kind_of_data(
    frame: pd.DataFrame, method: str
) -> None:
    for formula in (BY_ONE, "y ~ a + b + (1 + a | s)"):
        data = CrossedData.from_formulas(frame, [FORMULAS[0]])
        (one,) = fit_mixed_models(MixedModelData.from_formulas(frame, [formula]), [formula], method)
        (other,) = fit_mixed_models(data, [formula], method)
        assert isinstance(other, MixedFit)
        assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-7)
        assert one.aic == pytest.approx(other.aic, abs=1e-6)
