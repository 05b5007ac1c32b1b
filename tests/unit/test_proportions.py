"""Intervals of shares of clustered answers, against closed forms and simulation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from lingprob.stats.proportions import (
    accuracies,
    clustered_proportion_interval,
    design_effect,
    preferences,
)
from lingprob.stats.roc import area_under_roc


def test_a_tie_is_half_a_preference_and_a_missing_side_none():
    found = preferences([-1.0, -2.0, -3.0, np.nan], [-2.0, -1.0, -3.0, 0.0])
    np.testing.assert_array_equal(found, [1.0, 0.0, 0.5, np.nan])
    # As the area under the ROC curve has it.
    assert area_under_roc(np.array([-3.0, -3.0]), np.array([True, False])) == found[2]


def test_accuracies_of_groups_have_wilson_s_intervals():
    right = pd.Series([1.0, 1.0, 0.0, 0.5, 0.5, 1.0], index=list("abcdef"))
    table = accuracies(right, pd.Series(["y", "y", "x", "y", None, "y"], index=right.index))
    assert table.index.tolist() == ["y", "x"]
    assert table["n"].tolist() == [4, 1]
    assert table["accuracy"].tolist() == [0.875, 0.0]
    # By hand: (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), z^2 = 3.841.
    assert table.loc["y", ["accuracy_low", "accuracy_high"]].tolist() == pytest.approx(
        [0.396, 0.987], abs=1e-3
    )
    one = stats.binomtest(0, 1).proportion_ci(method="wilson")
    assert table.loc["x", ["accuracy_low", "accuracy_high"]].tolist() == pytest.approx(one)


def test_without_clusters_the_interval_is_wilson_s():
    correct = np.arange(20) < 13
    wilson = stats.binomtest(13, 20).proportion_ci(method="wilson")
    one, many = np.zeros(20, int), np.arange(20)
    assert clustered_proportion_interval(correct, one) == pytest.approx(wilson)
    # Each answer a cluster: the design effect is that of n - 1 against n, 1.
    assert clustered_proportion_interval(correct, many) == pytest.approx(wilson, abs=1e-9)


def test_a_design_effect_is_the_cluster_s_size_where_its_members_are_alike():
    values = np.repeat([0.0, 1.0, 1.0, 0.0, 1.0, 0.0], 5)
    effect = design_effect(values, np.repeat(np.arange(6), 5))
    assert effect == pytest.approx(5 * (6 / 5) * (29 / 30))
    assert design_effect(np.ones(4), np.array([0, 0, 1, 1])) == 1
    assert design_effect(np.array([0.0, 1.0]), np.array([3, 3])) == 1
    # Residuals add up to -1/2 in the first of two clusters and to 1/2 in the other.
    assert design_effect(np.array([0.0, 1, 1, 0]), np.array([0, 1, 1, 1])) == pytest.approx(
        2 * (0.25 + 0.25) / 16 / (1 / 3 / 4)
    )


def test_trials_are_worth_fewer_by_the_design_effect_and_by_few_clusters():
    def wilson(share: float, n: float) -> list[float]:
        square = stats.norm.ppf(0.975) ** 2
        half = np.sqrt(square * (share * (1 - share) / n + square / 4 / n**2))
        return [(share + square / 2 / n + side * half) / (1 + square / n) for side in (-1, 1)]

    alike = clustered_proportion_interval(
        np.repeat([False, True, True, False, True, True], 5), np.repeat(np.arange(6), 5)
    )
    ratio = stats.t.ppf(0.975, 29) / stats.t.ppf(0.975, 5)
    assert alike == pytest.approx(wilson(2 / 3, 30 * ratio**2 / (5 * 6 / 5 * 29 / 30)))
    # Clusters that are more alike than chance are worth no more than the trials.
    balanced = clustered_proportion_interval(np.array([True, False] * 2), np.array([0, 0, 1, 1]))
    ratio = stats.t.ppf(0.975, 3) / stats.t.ppf(0.975, 1)
    assert balanced == pytest.approx(wilson(0.5, 4 * ratio**2))


def test_an_interval_of_all_or_none_ends_exactly_there():
    for n in range(1, 60):
        one = np.zeros(n, int)
        assert clustered_proportion_interval(np.ones(n, bool), one)[1] == 1
        assert clustered_proportion_interval(np.zeros(n, bool), one)[0] == 0


def test_all_right_still_has_a_width_and_the_interval_holds_the_share():
    low, high = clustered_proportion_interval(np.ones(24, bool), np.arange(24) % 10)
    assert 0.8 < low < 1
    assert high == 1
    low, high = clustered_proportion_interval(np.zeros(24, bool), np.arange(24) % 10)
    assert low == 0
    assert 0 < high < 0.2


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_intervals_cover_the_share_over_prefixes(spread):
    """Ten prefixes, each before 3 items: the truth is the share over all prefixes."""
    random = np.random.default_rng(0)
    effects = spread * random.normal(size=(1000, 10))
    population = 1 / (1 + np.exp(-(0.5 + spread * random.normal(size=100_000))))
    cluster = np.repeat(np.arange(10), 3)
    covered = []
    for effect in effects:
        chances = 1 / (1 + np.exp(-(0.5 + effect[cluster])))
        low, high = clustered_proportion_interval(random.random(30) < chances, cluster)
        covered.append(low <= population.mean() <= high)
    assert 0.93 < np.mean(covered) < 0.995
