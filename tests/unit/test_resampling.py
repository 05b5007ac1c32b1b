"""Areas, correlations, shares and least squares against scikit-learn, scipy and plain loops."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.stats import norm
from sklearn.metrics import roc_curve as their_roc_curve

from lingprob.stats.least_squares import fit_least_squares
from lingprob.stats.resampling import (
    CrossedDraws,
    accuracies,
    clustered_proportion_interval,
    correlation,
    correlation_interval,
    design_effect,
    interval,
    mean_intervals,
    preferences,
    resampled_means,
    resamples,
    sum_interval,
    tails,
    widened,
)
from lingprob.stats.roc import area_under_roc, resampled_areas, roc_curve


@pytest.fixture(params=["distinct", "tied"])
def scored(request):
    """Scores with and without ties, and classes of unlike size."""
    rng = np.random.default_rng(1)
    scores = rng.standard_normal(400)
    if request.param == "tied":
        scores = np.round(scores, 1)
    positive = rng.random(400) < 0.3
    return scores + positive, positive


def test_the_curve_is_scikit_learn_s(scored):
    scores, positive = scored
    false, true = roc_curve(scores, positive, np.ones(400))
    expected = their_roc_curve(positive, scores, drop_intermediate=False)
    np.testing.assert_allclose(false, expected[0])
    np.testing.assert_allclose(true, expected[1])


def test_weighted_curves_are_those_of_repeated_rows():
    scores = np.array([0.1, 0.4, 0.35, 0.8, 0.4])
    positive = np.array([False, True, False, True, False])
    times = np.array([1, 3, 2, 1, 4])
    found = roc_curve(scores, positive, times.astype(float))
    repeats = np.repeat(scores, times), np.repeat(positive, times), np.ones(11)
    expected = roc_curve(*repeats)
    np.testing.assert_allclose(found, expected)
    np.testing.assert_allclose(found, [[0, 0, 4 / 7, 6 / 7, 1], [0, 1 / 4, 1, 1, 1]])
    area = area_under_roc(*repeats)
    assert area_under_roc(scores, positive, times.astype(float)) == pytest.approx(area)


def test_one_class_has_no_area():
    scores = np.arange(5.0)
    assert np.isnan(area_under_roc(scores, np.ones(5, dtype=bool), np.ones(5)))
    false, true = roc_curve(scores[:2], np.ones(2, dtype=bool), np.ones(2))
    assert (false.tolist(), true.tolist()) == ([0, 0, 0], [0, 0.5, 1])
    given = scores[:, None], np.zeros(5, dtype=bool), np.arange(5)
    drawn = resampled_areas(*given, draws=10, seed=0, weight=np.ones(5))
    assert np.isnan(drawn).all()


def repeated(counts, unit):
    """Row numbers as often as their unit was drawn."""
    return np.repeat(np.arange(len(unit)), counts[unit])


def quantiles(values):
    return np.quantile(values, [0.025, 0.975])


def test_a_resampled_correlation_equals_that_of_repeats():
    rng = np.random.default_rng(3)
    x = rng.standard_normal(90) * 10 - 300
    y = x + 5 * rng.standard_normal(90)
    assert correlation(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    unit = np.arange(90) // 3
    loop = [
        stats.pearsonr(x[rows], y[rows]).statistic
        for part in resamples(30, 40, 5)
        for rows in (repeated(counts, unit) for counts in part)
    ]
    found = correlation_interval(x, y, unit, draws=40, seed=5)
    np.testing.assert_allclose(found, quantiles(loop))


def test_a_resampled_mean_equals_that_of_repeats():
    """Units 17 to 19 have no row here; weights 1 and 3 repeat a row as often."""
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(17), [1, 2, 3, 6, 1] * 3 + [4, 1])
    values, weight = rng.random((len(unit), 2)), rng.choice([1, 3], len(unit))
    draws = np.concatenate(list(resamples(20, 30, 2)))
    rows = [np.repeat(np.arange(len(unit)), counts[unit] * weight) for counts in draws]
    given = {"draws": 30, "seed": 2, "weight": weight.astype(float), "units": 20}
    found = resampled_means(values, unit, **given)
    np.testing.assert_allclose(found, [values[some].mean(axis=0) for some in rows])
    ends = mean_intervals(values, unit, draws=30, seed=2)
    draws = np.concatenate(list(resamples(17, 30, 2)))
    unweighted = [values[repeated(counts, unit)].mean(axis=0) for counts in draws]
    np.testing.assert_allclose(ends, np.quantile(unweighted, [0.025, 0.975], axis=0).T)


@pytest.mark.parametrize("x", [np.full(9, 0.1), np.arange(9.0)[:2], 1e6 + 1e-6 * np.arange(9.0)])
def test_constant_or_short_data_have_no_correlation(x):
    y = np.arange(9.0)[: len(x)]
    assert np.isnan(correlation(x, y))
    assert np.isnan(correlation(y, x))
    assert np.isnan(correlation_interval(x, y, np.arange(len(x)), draws=5, seed=0)).all()
    three = np.array([[1.0, 2.0, 4.0], [2.0, 1.0, 5.0]])  # enough
    assert correlation(*three) == pytest.approx(np.corrcoef(three)[0, 1])


@pytest.mark.parametrize("seed", range(20))
def test_no_bound_of_a_correlation_is_beyond_1(seed):
    """Of three rows many draws have two, which lie on a line: 1 and a rounding."""
    x, y = np.random.default_rng(seed).normal(size=(2, 3)) * [[10], [1]]
    low, high = correlation_interval(x, y, np.arange(3), draws=100, seed=1)
    assert -1 <= low <= high <= 1


def test_constant_resamples_have_no_correlation():
    """Only the rows of one of four units vary in x, and not all resamples draw it."""
    unit = np.repeat(np.arange(4), 33)
    y = np.random.default_rng(0).normal(size=132)
    x = np.where(unit == 3, y, 0.1)
    kept = [
        stats.pearsonr(x[rows], y[rows]).statistic
        for rows in (repeated(counts, unit) for part in resamples(4, 60, 2) for counts in part)
        if np.ptp(x[rows]) > 0
    ]
    assert len(kept) < 60
    found = correlation_interval(x, y, unit, draws=60, seed=2)
    np.testing.assert_allclose(found, quantiles(kept))


def test_intervals_are_central_and_of_the_finite_values():
    assert tails(0.9) == pytest.approx((0.05, 0.95))
    values = np.array([np.nan, *range(101), np.inf], dtype=float)
    assert interval(values) == pytest.approx((2.5, 97.5))
    assert interval(values, (0.05, 0.95)) == pytest.approx((5, 95))
    assert np.isnan(interval(values[:1])).all()


def wider(n: float, freedom: float) -> float:
    """The factor of an interval over n units with these degrees of freedom."""
    return stats.t.ppf(0.975, freedom) / 1.959964 * np.sqrt(n / (n - 1))


def test_intervals_of_few_or_unequal_units_are_wider():
    """Ten equal units; unequal ones; and a large one, with one degree of freedom at least."""
    ends = (0.2, 0.9)
    unequal, large = ([3, 2, 2, 1, 0], 64 / 18, 18**2 / 114 - 1), ([9, 1, 1, 1, 0], 144 / 84, 1)
    for sizes, n, freedom in (([3] * 10, 10, 9), unequal, large):
        factor = wider(n, freedom)
        found = widened(0.5, ends, np.array(sizes), (-99.0, 99.0))
        assert found == pytest.approx((0.5 - 0.3 * factor, 0.5 + 0.4 * factor), rel=1e-5)
    assert widened(0.5, ends, np.full(3, 1), (0.0, 1.0)) == (0.0, 1.0)
    assert np.isnan(widened(0.5, ends, np.array([7, 0]), (0.0, 1.0))).all()


def test_a_column_with_gaps_has_no_interval():
    values = np.column_stack([np.arange(9.0), np.append(np.arange(8.0), np.nan)])
    found = mean_intervals(values, np.arange(9), draws=30, seed=1)
    assert np.isfinite(found[0]).all()
    assert np.isnan(found[1]).all()


def test_draws_come_in_blocks_that_add_up(monkeypatch):
    """Blocks of two resamples of ten units, with blocks of 100 for the sums."""
    x, y = np.random.default_rng(1).normal(size=(2, 30))

    def intervals():
        options = {"unit": np.arange(30) // 3, "draws": 9, "seed": 4}
        return correlation_interval(x, y, **options), *mean_intervals(x[:, None], **options)

    at_once = intervals()
    monkeypatch.setattr("lingprob.stats.resampling.COUNTS_AT_ONCE", 20)
    np.testing.assert_allclose(intervals(), at_once)
    assert [part.shape for part in resamples(10, 5, 0)] == [(2, 10), (2, 10), (1, 10)]


def test_weight_two_is_two_sentences_in_resamples():
    """The same units are drawn, whatever their sentences weigh."""
    rng = np.random.default_rng(3)
    scores, positive, unit = rng.normal(size=(40, 2)), rng.random(40) < 0.5, np.arange(40) // 4
    weight = rng.integers(1, 4, 40)
    written_out = np.repeat(np.arange(40), weight)
    how = {"draws": 30, "seed": 1}
    weighted = resampled_areas(scores, positive, unit, **how, weight=weight.astype(float))
    repeats = (each[written_out] for each in (scores, positive, unit))
    assert weighted == pytest.approx(resampled_areas(*repeats, **how, weight=np.ones(weight.sum())))
    assert weighted != pytest.approx(
        resampled_areas(scores, positive, unit, **how, weight=np.ones(40))
    )


def test_a_tie_is_half_a_preference():
    found = preferences([-1.0, -2.0, -3.0, np.nan], [-2.0, -1.0, -3.0, 0.0])
    np.testing.assert_array_equal(found, [1.0, 0.0, 0.5, np.nan])
    # As the area under the ROC curve has it.
    assert area_under_roc(np.array([-3.0, -3.0]), np.array([True, False]), np.ones(2)) == found[2]


def test_accuracies_of_groups_have_wilson_s_intervals():
    right = pd.Series([1.0, 1.0, 0.0, 0.5, 0.5, 1.0], index=list("abcdef"))
    table = accuracies(right, pd.Series(["y", "y", "x", "y", None, "y"]))
    assert table.index.tolist() == ["y", "x"]
    assert table["n"].tolist() == [4, 1]
    assert table["accuracy"].tolist() == [0.875, 0.0]
    # By hand: (p + z^2 / 2n -+ z sqrt(p (1 - p) / n + z^2 / 4n^2)) / (1 + z^2 / n), z^2 = 3.841.
    ends = ["accuracy_low", "accuracy_high"]
    assert table.loc["y", ends].tolist() == pytest.approx([0.396, 0.987], abs=1e-3)
    one = stats.binomtest(0, 1).proportion_ci(method="wilson")
    assert table.loc["x", ends].tolist() == pytest.approx(one)


def test_unknown_preferences_are_no_answers():
    right = pd.Series([1.0, 0.0, np.nan, np.nan])
    found = accuracies(right, pd.Series(["a", "a", "a", "b"]))
    known = accuracies(right[:2], pd.Series(["a", "a"]))
    pd.testing.assert_frame_equal(found.loc[["a"]], known)
    assert found.loc["b", "n"] == 0
    assert found.loc["b"].drop("n").isna().all()


def test_without_clusters_the_interval_is_wilson_s():
    correct = np.arange(20) < 13
    wilson = stats.binomtest(13, 20).proportion_ci(method="wilson")
    one, many = np.zeros(20, int), np.arange(20)
    assert clustered_proportion_interval(correct, one) == pytest.approx(wilson)
    # Each answer a cluster: the design effect is that of n - 1 against n, 1.
    assert clustered_proportion_interval(correct, many) == pytest.approx(wilson, abs=1e-9)


def test_equal_members_give_the_cluster_size_as_effect():
    values = np.repeat([0.0, 1.0, 1.0, 0.0, 1.0, 0.0], 5)
    effect = design_effect(values, np.repeat(np.arange(6), 5))
    assert effect == pytest.approx(5 * (6 / 5) * (29 / 30))
    assert design_effect(np.ones(4), np.array([0, 0, 1, 1])) == 1
    assert design_effect(np.array([0.0, 1.0]), np.array([3, 3])) == 1
    # Residuals add up to -1/2 in the first of two clusters and to 1/2 in the other.
    assert design_effect(np.array([0.0, 1, 1, 0]), np.array([0, 1, 1, 1])) == pytest.approx(
        2 * (0.25 + 0.25) / 16 / (1 / 3 / 4)
    )


def test_trials_are_worth_fewer_in_clusters():
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


def test_an_interval_of_all_or_none_ends_there():
    for n in range(1, 60):
        one = np.zeros(n, int)
        assert clustered_proportion_interval(np.ones(n, bool), one)[1] == 1
        assert clustered_proportion_interval(np.zeros(n, bool), one)[0] == 0


def test_a_predictor_s_unit_changes_only_its_coefficient():
    numbers = np.random.default_rng(1)
    frame = pd.DataFrame(numbers.normal(size=(40, 2)), columns=["a", "y"])
    frame["flag"] = np.arange(40.0) % 2  # from 0 to 1
    fit = fit_least_squares(frame, "y", ["a", "flag"])
    small = fit_least_squares(frame.assign(a=1e-11 * frame["a"]), "y", ["a", "flag"])
    expected = fit.coefficients * [1, 1e11, 1]
    assert small.coefficients.to_numpy() == pytest.approx(expected.to_numpy(), rel=1e-6)
    assert small.log_likelihood == pytest.approx(fit.log_likelihood)


def test_other_data_have_the_fitted_errors_density():
    numbers = np.random.default_rng(2)
    frame = pd.DataFrame(numbers.normal(size=(50, 2)), columns=["a", "y"])
    fit, other = fit_least_squares(frame[:30], "y", ["a"]), frame[30:]
    intercept, slope = np.polyfit(frame["a"][:30], frame["y"][:30], 1)[::-1]
    left = frame["y"] - intercept - slope * frame["a"]
    expected = norm(0, np.sqrt((left[:30] ** 2).mean())).logpdf(left[30:])
    np.testing.assert_allclose(fit.log_likelihoods(other), expected)


def crossed_variance(cells: np.ndarray) -> float:
    """Return the variance of a sum over crossed readers and items, by loops."""
    rows, columns = cells.sum(axis=1), cells.sum(axis=0)
    present = cells[cells != 0]
    of_rows, of_columns, apart = (
        sum((value - values.mean()) ** 2 for value in values) for values in (rows, columns, present)
    )
    return max(of_rows + of_columns - apart, of_rows, of_columns)


@pytest.mark.parametrize(("of_row", "of_column", "noise"), [(0, 0, 1), (1, 0.2, 1), (0, 1, 1)])
def test_crossed_draws_have_the_variance_of_both_samples(of_row, of_column, noise):
    """Twelve readers of thirty items, each of whom read every second one."""
    random = np.random.default_rng(6)
    cells = of_row * random.normal(size=(12, 1)) + of_column * random.normal(size=(1, 30))
    cells = cells + noise * random.normal(size=(12, 30)) + 2
    cells[(np.arange(12)[:, None] + np.arange(30)) % 2 == 0] = 0
    low, high = sum_interval(cells, 4000, 1)
    reach = 1.96 * wider(12, 11) * np.sqrt(crossed_variance(cells))
    assert low < cells.sum() < high
    assert (high - low) / 2 == pytest.approx(reach, rel=0.06)
    assert sum_interval(cells, 100, 1) == sum_interval(cells, 100, 1) != sum_interval(cells, 100, 2)


def test_crossed_draws_are_shared_by_all_variables():
    random = np.random.default_rng(7)
    one = random.normal(size=(6, 20))
    drawn = CrossedDraws(np.array([one, one + 1, 2 * one]), 500, 3)
    assert drawn.units == 6
    assert drawn.interval(np.array([-1.0, 1, 0])) == pytest.approx((120, 120))
    assert drawn.of(np.array([0.0, 0, 1])) == pytest.approx(drawn.of(np.array([2.0, 0, 0])))
    # A single reader is not drawn, and a single cell has no interval.
    items = CrossedDraws(one[None, :1], 4000, 3)
    reach = 1.96 * wider(20, 19) * np.sqrt(20) * one[0].std()
    low, high = items.interval(np.ones(1))
    assert (items.units, high - low) == (20, pytest.approx(2 * reach, rel=0.06))
    assert np.isnan(sum_interval(one[:1, :1], 10, 0)).all()


@pytest.mark.parametrize("spread", [0.0, 1.0])
def test_intervals_cover_the_share_over_prefixes(spread):
    """Each of ten prefixes precedes three items. The truth is the share over all prefixes."""
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
