"""Statistics of claims and their intervals against statsmodels, root finding, and by hand."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from scipy import stats
from scipy.optimize import brentq

from lingprob.scorecard.estimates import (
    combined,
    known_correlation,
    mean_difference,
    pearson,
    slope_difference,
    slope_within,
    spearman,
)
from lingprob.scorecard.verdicts import Estimate, judge_claim, judge_number


def points(seed: int, n: int = 13) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = np.array(list("abc"))[np.arange(n) % 3]
    return pd.DataFrame({"x": 5 + rng.normal(size=n), "y": rng.normal(size=n), "group": group})


def ends(found: Estimate) -> tuple[float, float, float]:
    return found.value, found.low, found.high


def theirs(formula: str, table: pd.DataFrame, term: str) -> tuple[float, float, float]:
    fit = smf.ols(formula, table).fit()
    return (fit.params[term], *fit.conf_int().loc[term])


@pytest.mark.parametrize("seed", range(3))
def test_slopes_and_their_intervals_are_those_of_statsmodels(seed):
    table = points(seed)
    pooled = slope_within(table["x"], table["y"])
    assert ends(pooled) == pytest.approx(theirs("y ~ x", table, "x"))
    within = slope_within(table["x"], table["y"], table["group"].tolist())
    assert ends(within) == pytest.approx(theirs("y ~ x + group", table, "x"))
    assert (within.n, within.note) == (13, "13 points")
    gappy = table.assign(y=table["y"].where(table.index != 4, np.nan))
    found = slope_within(gappy["x"], gappy["y"], gappy["group"].tolist())
    assert ends(found) == pytest.approx(theirs("y ~ x + group", gappy.dropna(), "x"))
    states = table[table["group"] != "c"].assign(
        later=lambda rows: (rows["group"] == "b").astype(float)
    )
    found = slope_difference(table["x"], table["y"], table["group"].tolist(), "a", "b")
    assert ends(found) == pytest.approx(theirs("y ~ x * later", states, "x:later"))
    assert (found.n, found.note) == (len(states), f"{len(states)} points")


def test_the_fewest_points_of_each_statistic():
    """One residual degree of freedom is enough: three points, five in two states."""
    assert ends(slope_within([1, 2, 4], [1, 3, 2])) == pytest.approx(
        theirs("y ~ x", pd.DataFrame({"x": [1, 2, 4], "y": [1, 3, 2]}), "x")
    )
    five = {"x": [1, 2, 4, 1, 3], "y": [1, 3, 2, 0, 5], "later": [0, 0, 0, 1, 1]}
    found = slope_difference(five["x"], five["y"], five["later"], 0, 1)
    assert ends(found) == pytest.approx(theirs("y ~ x * later", pd.DataFrame(five), "x:later"))
    flat = slope_difference([1, 2, 4, 3, 3], five["y"], five["later"], 0, 1)
    assert math.isnan(flat.value)
    assert math.isnan(slope_within([1e6] * 4, [1, 2, 3, 5]).value)
    rounded = 1e6 * np.array([0.3, 0.1 + 0.2, 0.3, 0.1 + 0.2])
    assert len(set(rounded)) == 2
    assert math.isnan(slope_within(rounded, [1, 2, 3, 5]).value)
    assert slope_within([1e-3, 2e-3, 4e-3], [1, 3, 2]).value == pytest.approx(
        1000 * slope_within([1, 2, 4], [1, 3, 2]).value
    )
    four = stats.pearsonr([1, 2, 3, 4], [1, 3, 2, 4]).confidence_interval(0.95)
    assert ends(pearson([1, 2, 3, 4], [1, 3, 2, 4])) == pytest.approx((0.8, four.low, four.high))
    # The squares about the mean are compared with those about 0, and with 1.
    assert math.isnan(slope_within(1e6 + 0.01 * np.arange(4), [1, 2, 3, 5]).value)
    assert slope_within(1e6 + np.arange(4), [1, 2, 3, 5]).value == pytest.approx(1.3)
    assert slope_within(0.9e-6 * np.arange(3), [1, 2, 3]).value == pytest.approx(1e6 / 0.9)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_what_does_not_vary_has_no_correlation_and_what_varies_by_one_has():
    assert math.isnan(pearson([2, 2, 2, 2], [1, 3, 2, 4]).value)
    assert math.isnan(pearson([1, 3, 2, 4], [2, 2, 2, 2]).value)
    assert pearson([0, 1, 1, 0], [0, 3, 1, 2]).value == pytest.approx(1 / np.sqrt(5))
    assert pearson([0, 3, 1, 2], [0, 1, 1, 0]).value == pytest.approx(1 / np.sqrt(5))


def test_missing_pairs_do_not_count_in_a_mean_difference():
    found = mean_difference([0.0, 1.0, np.nan, 3.0], [1.0, 4.0, 2.0, np.nan])
    assert (found.value, found.n, found.note) == (2.0, 2, "2 pairs")
    assert found.half_width == pytest.approx(stats.t.ppf(0.975, 1))


@pytest.mark.parametrize(("rho", "n"), [(0.6, 20), (-0.3, 8), (0.0, 5), (0.95, 12)])
def test_spearmans_interval_ends_where_its_test_rejects(rho, n):
    def distance(tested: float) -> float:
        error = np.sqrt((1 + tested**2 / 2) / (n - 3))
        return (np.arctanh(rho) - np.arctanh(tested)) / error

    z = stats.norm.ppf(0.975)
    low = brentq(lambda tested: distance(tested) - z, -1 + 1e-9, rho)
    high = brentq(lambda tested: distance(tested) + z, rho, 1 - 1e-9)
    found = known_correlation(rho, n, ranks=True)
    assert ends(found) == pytest.approx((rho, low, high), abs=1e-6)
    assert found.note == f"n = {n}"


def test_spearman_takes_ranks():
    x, y = [1.0, 2, 3, 4, 5, 60], [0.1, 7, 3, 900, 50, 51]
    ranked = known_correlation(float(stats.spearmanr(x, y).statistic), 6, ranks=True)
    assert ends(spearman(x, y)) == pytest.approx(ends(ranked))


def test_known_correlations_at_the_edge():
    assert ends(known_correlation(1.0, 10))[1:] == pytest.approx((1, 1), abs=1e-9)
    assert ends(known_correlation(-1.0, 10))[1:] == pytest.approx((-1, -1), abs=1e-9)
    for r in (1.0, -1.0):  # ends, and no warning of what is infinite
        for ranks in (False, True):
            inner, outer = sorted(np.abs(ends(known_correlation(r, 10, ranks=ranks))[1:]))
            assert 0 < 1 - outer < 1 - inner < 1e-9
    few = known_correlation(0.5, 3)
    assert (few.value, few.n, few.note) == (0.5, 3, "n = 3")
    assert math.isnan(few.low)
    assert known_correlation(0.5, 4).low == pytest.approx(
        np.tanh(np.arctanh(0.5) - stats.norm.ppf(0.975))
    )
    assert math.isnan(known_correlation(math.nan, 10).value)


def test_sums_of_estimates_by_hand():
    """Twice 2 (1 to 5) less half of 6 (3 to 10): 4 (2 to 10) and -3 (-5 to -1.5)."""
    found = combined([Estimate(2, 1, 5, 30), Estimate(6, 3, 10, 20)], [2, -0.5])
    assert ends(found) == pytest.approx((1, 1 - np.hypot(2, 2), 1 + np.hypot(6, 1.5)))
    assert found.n == 20


def test_an_interval_as_narrow_as_what_decides_decides():
    exactly = Estimate(0.125, 0.0, 0.25, 10)
    assert judge_number(exactly, 0.25, 0.0625, 0.125) == ("reproduced", "")
    assert judge_number(exactly, 0.25, 0.0625, 0.0625) == (
        "undecided", "n = 10; about n = 40 would tell"
    )  # fmt: skip
    # Half the published interval counts as rounding.
    assert judge_number(Estimate(0.5, 0.0, 1.0, 10), 0.0, 0.5, 0.1)[0] == "reproduced"
    assert judge_number(Estimate(1.0, 0.25, 1.75, 10), 0.0, 0.75, 0.1)[0] == "reproduced"
    # Without a number of observations, or where it is narrow already, there is nothing to say.
    assert judge_number(Estimate(0.125, 0.0, 0.25), 0.25, 0.0625, 0.0625) == ("undecided", "")
    assert judge_claim(Estimate(0.5, 0.0, 1.0, 10), "> 0.5") == ("undecided", "")
    assert judge_claim(Estimate(0.5, 0.0, 1.0, 10), "> 0") == ("undecided", "")
    assert judge_claim(Estimate(2.0, 1.0, 2.5, 10), "within 1.5 to 3") == ("undecided", "")
