"""Verdicts by hand, and the statistics behind them: simulated without the effect, and reversed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from lingprob.errors import LingprobError
from lingprob.scorecard.estimates import (
    mean_difference,
    pearson,
    slope_difference,
    slope_within,
    spearman,
)
from lingprob.scorecard.verdicts import Estimate, expected_range, judge_claim, judge_number


def test_the_last_bits_of_a_large_number_do_not_make_it_another():
    ours = 1e9 + 0.5 + 1e-7
    assert judge_number(Estimate(ours, ours, ours, 100), 1e9, 0.5, 0.02)[0] == "reproduced"
    assert (
        judge_number(Estimate(1.5 + 1.5e-9, 1.5 + 1.5e-9, 1.5 + 1.5e-9, 100), 1, 0.5, 0.02)[0]
        == "differs"
    )


@pytest.mark.parametrize(
    ("low", "high", "value", "verdict"),
    [
        (0.8596, 0.8596, 0.8596, "reproduced"),  # within rounding
        (0.8594, 0.8594, 0.8594, "differs"),  # a count or exact value outside of it
        (0.70, 0.99, 0.8603, "reproduced"),  # within rounding, however wide
        (0.84, 0.87, 0.855, "reproduced"),  # intervals meet, ours is narrow
        (0.70, 0.90, 0.80, "undecided"),  # meets it, too wide to tell
        (0.70, 0.85, 0.80, "differs"),
        (0.861, 0.99, 0.93, "differs"),
        (0.8603, 0.99, 0.93, "undecided"),  # within rounding of an end
        (0.70, 0.8597, 0.80, "undecided"),
        (math.nan, math.nan, math.nan, "not run"),
    ],
)
def test_a_number_is_judged_by_rounding_and_interval(low, high, value, verdict):
    assert judge_number(Estimate(value, low, high, 100), 0.860, 0.0005, 0.02)[0] == verdict


def test_an_undecided_number_says_what_would_tell():
    """An interval of .10 to either side is five times .02: twenty-five times the observations."""
    verdict, note = judge_number(Estimate(0.80, 0.70, 0.90, 40), 0.86, 0.0005, 0.02)
    assert (verdict, note) == ("undecided", "n = 40; about n = 1,000 would tell")


@pytest.mark.parametrize(
    ("low", "high", "expected", "verdict"),
    [
        (0.1, 0.5, "> 0", "supported"),
        (-0.1, 0.5, "> 0", "undecided"),
        (-0.5, -0.1, "> 0", "contradicted"),
        (0.0, 0.5, "> 0", "undecided"),
        (-0.5, -0.1, "< 0", "supported"),
        (-0.5, 0.0, "< 0", "undecided"),
        (0.77, 1.05, "< 1", "undecided"),
        (0.77, 0.95, "< 1", "supported"),
        (-0.02, 0.03, "within -0.05 to 0.05", "supported"),
        (0.0, 0.05, "within 0 to 0.05", "supported"),
        (-0.02, 0.3, "within -0.05 to 0.05", "undecided"),
        (0.1, 0.3, "within -0.05 to 0.05", "contradicted"),
    ],
)
def test_a_claim_is_judged_by_its_interval(low, high, expected, verdict):
    assert judge_claim(Estimate((low + high) / 2, low, high), expected)[0] == verdict


def test_no_interval_decides_nothing():
    assert judge_claim(Estimate(3.0, math.nan, math.nan), "> 0")[0] == "undecided"
    assert judge_claim(Estimate(math.nan, math.nan, math.nan), "> 0")[0] == "not run"


@pytest.mark.parametrize(("low", "high"), [(1.0, math.inf), (-math.inf, -1.0)])
def test_an_interval_without_an_end_decides_nothing(low, high):
    value = 3.0 if low == 1 else -3.0
    assert judge_claim(Estimate(value, low, high), "> 0") == ("undecided", "no interval")


@pytest.mark.parametrize(("low", "high", "expected"), [(-1.0, 0.0, "> 0"), (0.0, 1.0, "< 0")])
def test_an_interval_that_ends_on_the_limit_does_not_contradict(low, high, expected):
    assert judge_claim(Estimate((low + high) / 2, low, high), expected)[0] == "undecided"


@pytest.mark.parametrize(
    ("value", "expected"), [(0.25, "> 0"), (1.25, "> 1"), (0.75, "< 1"), (0.25, "within 0 to 0.5")]
)
def test_the_note_says_how_many_would_tell(value, expected):
    """The interval is half a unit either way, the limit a quarter off: four times as many."""
    verdict, note = judge_claim(Estimate(value, value - 0.5, value + 0.5, 10), expected)
    assert (verdict, note) == ("undecided", "n = 10; about n = 40 would tell")


def test_a_mistyped_expectation_and_an_interval_upside_down_are_refused():
    for text in ("above 0", "> zero", "within 1", "=> 0"):
        with pytest.raises(LingprobError, match="a claim expects"):
            expected_range(text)
    with pytest.raises(LingprobError, match="upside down"):
        Estimate(0, 1, -1)


def test_levels_of_groups_do_not_hide_a_slope_within_them():
    """Three states that fall steeply and two other families' points at other levels: pooled, the
    slope is uncertain; within, it falls."""
    size = np.tile([7.0, 8.0, 9.0], 5)
    level = np.repeat([500.0, 100.0, 300.0, 900.0, 0.0], 3)
    rng = np.random.default_rng(0)
    y = level - 40 * size + rng.normal(0, 3, 15)
    group = np.repeat(["a", "b", "c", "d", "e"], 3)
    assert judge_claim(slope_within(size, y), "< 0")[0] == "undecided"
    within = slope_within(size, y, group)
    assert judge_claim(within, "< 0")[0] == "supported"
    assert judge_claim(slope_within(size, -y, group), "< 0")[0] == "contradicted"


def test_slopes_are_those_of_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=12), rng.normal(size=12)
    one = stats.linregress(x, y)
    found = slope_within(x, y)
    assert found.value == pytest.approx(one.slope)
    assert found.half_width == pytest.approx(one.stderr * stats.t.ppf(0.975, 10))
    state = np.repeat(["before", "after"], 6)
    slopes = [stats.linregress(x[state == name], y[state == name]).slope
              for name in ("before", "after")]  # fmt: skip
    difference = slope_difference(x, y, state, "before", "after")
    assert difference.value == pytest.approx(slopes[1] - slopes[0])


def test_paired_differences_and_correlations_are_those_of_scipy():
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=30), rng.normal(0.5, 1, size=30)
    theirs = stats.ttest_rel(y, x).confidence_interval(0.95)
    ours = mean_difference(x, y)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high))
    two = stats.ttest_rel([1.0, 4.0], [0.0, 1.0]).confidence_interval(0.95)
    assert mean_difference([0, 1], [1, 4]).low == pytest.approx(two.low)
    theirs = stats.pearsonr(x, y).confidence_interval(0.95)
    ours = pearson(x, y)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-6)
    assert spearman(x, y).value == pytest.approx(stats.spearmanr(x, y).statistic)


def test_too_few_points_are_no_estimate():
    assert math.isnan(slope_within([1, 2], [3, 4]).value)
    assert math.isnan(slope_within([1, 1, 2, 2], [3, 4, 5, 6], [0, 0, 1, 1]).value)
    assert math.isnan(slope_difference([1, 2, 3, 4], [1, 2, 3, 4], list("aabb"), "a", "b").value)
    assert math.isnan(mean_difference([1], [2]).value)
    assert math.isnan(spearman([1, 2, 3], [1, 2, 3]).value)


STATISTICS = {
    "slope": lambda rng, effect: slope_within(
        np.tile(np.arange(4.0), 3),
        effect * np.tile(np.arange(4.0), 3) + rng.normal(size=12) + np.repeat([0, 9, 4], 4),
        np.repeat([0, 1, 2], 4),
    ),
    "interaction": lambda rng, effect: slope_difference(
        np.tile(np.arange(6.0), 2),
        effect * np.tile(np.arange(6.0), 2) * np.repeat([0, 1], 6) + rng.normal(size=12),
        np.repeat([0, 1], 6),
        0,
        1,
    ),
    "difference": lambda rng, effect: mean_difference(
        np.zeros(16), effect + rng.normal(size=16)
    ),
    "spearman": lambda rng, effect: spearman(
        np.arange(20.0), effect * np.arange(20.0) / 4 + rng.normal(size=20)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STATISTICS)
def test_a_statistic_supports_a_claim_without_effect_in_at_most_a_twentieth_of_runs(name):
    """Two-sided intervals of 95%: 2.5% in each direction; 1,000 runs, so at most 5%."""
    rng = np.random.default_rng(3)
    verdicts = [judge_claim(STATISTICS[name](rng, 0), "> 0")[0] for _ in range(1000)]
    assert verdicts.count("supported") <= 50
    assert verdicts.count("contradicted") <= 50
    strong = [judge_claim(STATISTICS[name](rng, 2), "> 0")[0] for _ in range(100)]
    assert strong.count("supported") >= 80
    reversed_ = [judge_claim(STATISTICS[name](rng, -2), "> 0")[0] for _ in range(100)]
    assert reversed_.count("contradicted") >= 80
    assert "supported" not in reversed_
