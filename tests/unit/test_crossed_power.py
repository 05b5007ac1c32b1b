"""Power of means over crossed targets and prefixes: by covariances, simulation and statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import TTestPower

from lingprob.regression import crossed_power
from lingprob.regression.crossed_power import (
    ALPHA,
    POWER,
    Variances,
    detectable,
    fewest,
    mean_variance,
    power,
    suite_variance,
)

some = st.floats(0.01, 4.0)
SIMULATIONS = 4000


def after_which(n: int, p: int, design: str) -> np.ndarray:
    """Target and prefix of each judgment of a suite, (judgments, 2)."""
    pairs = [(t, j) for t in range(n) for j in range(p) if design == "crossed" or t % p == j]
    return np.array(pairs)


@given(st.builds(Variances, some, some, some, some, some), st.integers(1, 7), st.integers(1, 7),
       st.sampled_from(["dealt", "crossed"]), st.integers(2, 5))  # fmt: skip
@settings(deadline=None, max_examples=150)
def test_variances_of_means_are_those_of_all_judgments_covariances(of, n, p, design, suites):
    (found,), _ = suite_variance(of, np.array([p]), n, design)
    (over_suites,), (freedom,) = mean_variance(of, np.array([p]), n, suites, design)
    if design == "dealt" and p > n:
        assert np.isnan([found, over_suites]).all()
        return
    target, prefix = after_which(n, p, design).T
    same_target, same_prefix = (each[:, None] == each for each in (target, prefix))
    covariance = of.target * same_target + of.prefix * same_prefix
    covariance = covariance + of.residual * np.eye(len(target))
    assert found == pytest.approx(covariance.mean())
    # Each prefix is of a source of its own.
    with_source = covariance + of.source * same_prefix
    assert over_suites == pytest.approx((of.suite + with_source.mean()) / suites)
    assert freedom == suites - 1


@given(st.floats(0, 1), st.floats(0.5, 2), st.integers(2, 60))
@example(1.0, 0.5, 29)
@settings(deadline=None, max_examples=40)
def test_the_power_of_a_t_test_is_statsmodels(effect, deviation, n):
    expected = TTestPower().power(effect / deviation, n, ALPHA, alternative="two-sided")
    (found,) = power(effect, np.array([deviation**2 / n]), np.array([n - 1]))
    # SciPy's noncentral t, and statsmodels with it, has no far tails: NaN, where all is power.
    assert found == pytest.approx(1.0 if np.isnan(expected) else expected, abs=1e-6)


def simulated(of: Variances, n: int, p: int, effect: float, seed: int) -> np.ndarray:
    """Changes of a suite's targets after its prefixes, (simulations, n, p)."""
    random = np.random.default_rng(seed)
    target = random.normal(size=(SIMULATIONS, n, 1)) * of.target**0.5
    prefix = random.normal(size=(SIMULATIONS, 1, p)) * of.prefix**0.5
    left = random.normal(size=(SIMULATIONS, n, p)) * of.residual**0.5
    return effect + target + prefix + left


@pytest.mark.parametrize(("n", "p", "effect"), [(12, 3, 0.9), (12, 12, 0.5), (20, 5, 0.6)])
def test_the_power_of_dealt_prefixes_is_that_of_tests_of_prefixes_means(n, p, effect):
    of = Variances(0.0, 0.3, 0.2, 0.4)
    every = simulated(of, n, p, effect, 1)
    dealt = every[:, np.arange(n), np.arange(n) % p].reshape(SIMULATIONS, n // p, p)
    share = (stats.ttest_1samp(dealt.mean(axis=1), 0, axis=1).pvalue < ALPHA).mean()
    (found,) = power(effect, *suite_variance(of, np.array([p]), n, "dealt"))
    assert 0.3 < found < 0.95
    assert share == pytest.approx(found, abs=0.025)


@pytest.mark.parametrize(("n", "p", "effect"), [(12, 4, 0.8), (8, 10, 0.7), (20, 3, 1.0)])
def test_the_power_of_crossed_prefixes_is_that_of_satterthwaite_s_test(n, p, effect):
    of = Variances(0.0, 0.3, 0.2, 0.4)
    changes = simulated(of, n, p, effect, 2)
    means = changes.mean(axis=(1, 2))
    by_target, by_prefix = changes.mean(axis=2), changes.mean(axis=1)
    left = changes - by_target[:, :, None] - by_prefix[:, None, :] + means[:, None, None]
    targets, prefixes = p * by_target.var(axis=1, ddof=1), n * by_prefix.var(axis=1, ddof=1)
    within = (left**2).sum(axis=(1, 2)) / ((n - 1) * (p - 1))
    variance = np.maximum(targets + prefixes - within, 1e-9) / (n * p)
    freedom = (n * p * variance) ** 2 / (
        targets**2 / (n - 1) + prefixes**2 / (p - 1) + within**2 / ((n - 1) * (p - 1))
    )
    share = (2 * stats.t.sf(np.abs(means) / np.sqrt(variance), freedom) < ALPHA).mean()
    (found,) = power(effect, *suite_variance(of, np.array([p]), n, "crossed"))
    assert 0.3 < found < 0.95
    assert share == pytest.approx(found, abs=0.05)


def test_the_power_over_suites_is_that_of_tests_of_their_means():
    of, n, p, suites, effect = Variances(0.2, 0.3, 0.2, 0.4, 0.1), 6, 3, 8, 0.7
    random = np.random.default_rng(3)
    within = of._replace(prefix=of.prefix + of.source)
    one = np.stack([
        simulated(within, n, p, 0.0, 10 + suite)[:, np.arange(n), np.arange(n) % p].mean(axis=1)
        for suite in range(suites)
    ], axis=1)  # fmt: skip
    means = effect + one + random.normal(size=one.shape) * of.suite**0.5
    share = (stats.ttest_1samp(means, 0, axis=1).pvalue < ALPHA).mean()
    (found,) = power(effect, *mean_variance(of, np.array([p]), n, suites, "dealt"))
    assert 0.5 < found < 0.95
    assert share == pytest.approx(found, abs=0.025)


@given(st.builds(Variances, some, some, some, some), st.floats(0.1, 4), st.integers(2, 12),
       st.sampled_from(["dealt", "crossed"]))  # fmt: skip
@settings(deadline=None, max_examples=30)
def test_the_fewest_prefixes_are_the_first_of_a_loop(of, effect, n, design):
    numbers = np.arange(1, 15)
    variance, freedom = suite_variance(of, numbers, n, design)
    expected = np.inf
    for number in numbers[::-1]:
        (found,) = power(effect, *suite_variance(of, np.array([number]), n, design))
        if found >= POWER:
            expected = number
    assert fewest(effect, numbers, variance, freedom) == expected


def test_degrees_of_freedom_by_hand():
    """Mean squares of 7 between three prefixes, 9 between four targets and 3 of what is left."""
    of = Variances(suite=9.0, target=2.0, prefix=1.0, residual=3.0, source=9.0)
    (variance,), (freedom,) = suite_variance(of, np.array([3]), 4, "crossed")
    assert variance == pytest.approx(13 / 12)
    assert freedom == pytest.approx(13**2 / (7**2 / 2 + 9**2 / 3 + 3**2 / 6))
    _, freedoms = suite_variance(of, np.array([1, 3]), 4, "dealt")
    assert freedoms.tolist() == [0, 2]
    assert (ALPHA, POWER) == (0.05, 0.8)
    # Of prefixes that do not matter, one before each suite tells nothing.
    _, (none,) = suite_variance(Variances(0.0, 1.0, 0.0, 0.0), np.array([1]), 4, "crossed")
    assert none == 0


def test_sources_have_nothing_in_common_unless_they_are_said_to():
    """Three targets after each of two prefixes: 3 / 2 of prefixes, (2 + 4) / 6, 1 of the suite."""
    of = Variances(suite=1.0, target=2.0, prefix=3.0, residual=4.0)
    (variance,), _ = mean_variance(of, np.array([2]), 6, 4, "dealt")
    assert variance == pytest.approx(3.5 / 4)


def test_one_prefix_and_no_variance_are_told():
    of = Variances(0.0, 1.0, 1.0, 1.0)
    for design in ("dealt", "crossed"):
        variance, freedom = suite_variance(of, np.array([1.0, 2.0]), 4, design)
        assert power(100.0, variance, freedom)[0] == 0 < power(100.0, variance, freedom)[1]
        assert detectable(variance[0], freedom[0]) == np.inf
    assert power(0.1, np.array([0.0]), np.array([3.0])) == [1.0]
    assert power(100.0, np.array([1.0]), np.array([1.0])) > 0.8
    assert detectable(0.0, 3.0) == 0
    assert detectable(np.nan, 3.0) == np.inf


def test_what_is_detectable_grows_with_the_standard_error():
    one = detectable(1.0, 10)
    assert detectable(1e6, 10) == pytest.approx(1000 * one)
    assert detectable(1e-6, 10) == pytest.approx(one / 1000)


def test_a_power_of_eight_tenths_is_enough(monkeypatch):
    monkeypatch.setattr(crossed_power, "power", lambda *_: np.array([0.79, 0.8, 0.9]))
    assert fewest(1.0, np.array([2, 3, 4]), np.ones(3), np.ones(3)) == 3


@given(st.floats(0.01, 9), st.integers(1, 80))
@settings(deadline=None, max_examples=20)
def test_the_detectable_effect_has_the_power_asked_for(variance, freedom):
    effect = detectable(variance, freedom)
    (found,) = power(effect, np.array([variance]), np.array([freedom]))
    assert found == pytest.approx(POWER, abs=1e-6)
