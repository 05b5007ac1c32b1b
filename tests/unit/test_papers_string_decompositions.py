"""Correlations without the confound, and what separates, on simulated pairs with known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, pearsonr

from lingprob.papers.string_probability.analysis import QUANTITIES, changes, confounds_of
from lingprob.papers.string_probability.data import Options, variables
from lingprob.papers.string_probability.separation import (
    binormal,
    pool_areas,
    pool_numbers,
    pool_rows,
    variance_within,
)
from lingprob.regression.resampling import resamples

OPTIONS = Options(
    bins=5,
    levenshtein_unit="characters",
    levenshtein_quantile=0.75,
    levenshtein_comparison="at_most",
    levenshtein_population="rated",
    bootstrap=100,
    cluster_by_paradigm=False,
    seed=1,
    scale="demo",
)
SPREADS = np.array([22.0, 19.0, 17.0, 14.0, 12.0])
MESSAGE_SD = 5.0


def simulated(pairs: int, residual_sd: np.ndarray, per_token: float = 0.0) -> pd.DataFrame:
    """Pairs in five bins whose spread falls as in BLiMP; slope one, residuals as given by bin."""
    rng = np.random.default_rng(0)
    number = np.arange(pairs) % 5
    length = rng.integers(4, 30, pairs)
    good = -60 + SPREADS[number] * rng.standard_normal(pairs) - per_token * length
    bad = good - 8 + residual_sd[number] * rng.standard_normal(pairs)
    return pd.DataFrame(
        {
            "pair_id": [f"p{i}" for i in range(pairs)],
            "paradigm": "one",
            "logprob_good": good,
            "logprob_bad": bad,
            "n_tokens_good": length,
            "n_tokens_bad": length,
            "cosine_distance": number + 0.1 * rng.random(pairs),
        }
    )


def table_of(pairs: pd.DataFrame, options: Options = OPTIONS) -> pd.DataFrame:
    rows = pd.DataFrame(confounds_of(variables(pairs, 1), options))
    return rows.set_index(["subset", "name", "quantity"]).sort_index()


def test_a_falling_spread_alone_lowers_r_and_not_r_at_a_common_spread():
    pairs = simulated(40_000, np.full(5, 4.0))
    table = table_of(pairs)
    common = pairs["logprob_good"].std(ddof=0)
    for at, spread in enumerate(SPREADS, start=1):
        found = table.loc["bin", str(at)]["value"]
        assert found["spread"] == pytest.approx(spread, rel=0.03)
        assert found["slope"] == pytest.approx(1, abs=0.02)
        assert found["residual_sd"] == pytest.approx(4, rel=0.03)
        assert found["r"] == pytest.approx(spread / np.hypot(spread, 4), abs=0.003)
        assert found["r_common_spread"] == pytest.approx(common / np.hypot(common, 4), abs=0.003)
    changes = table.loc["change", ""]
    assert changes.loc["r", "value_high"] < -0.02
    assert (
        changes.loc["r_common_spread", "value_low"]
        < 0
        < changes.loc["r_common_spread", "value_high"]
    )
    assert changes.loc["slope", "value_low"] < 0 < changes.loc["slope", "value_high"]
    assert changes.loc["spread", "value"] == pytest.approx(-10, abs=0.7)


def test_a_rising_scatter_lowers_both():
    residual_sd = np.array([4.0, 5.0, 6.0, 7.0, 8.0])
    pairs = simulated(40_000, residual_sd)
    changes = table_of(pairs).loc["change", ""]
    common = pairs["logprob_good"].std(ddof=0)
    truth = common / np.hypot(common, residual_sd)
    fitted = np.polyfit(np.arange(5), truth, 1)[0] * 4
    assert changes.loc["r_common_spread", "value_high"] < 0
    assert changes.loc["r_common_spread", "value"] == pytest.approx(fitted, abs=0.01)
    assert changes.loc["residual_sd", "value"] == pytest.approx(4, abs=0.2)


def test_r_without_length_is_that_of_the_messages():
    pairs = simulated(40_000, np.full(5, 4.0), per_token=6.0)
    table = table_of(pairs)
    for at, spread in enumerate(SPREADS, start=1):
        truth = spread / np.hypot(spread, 4)
        assert table.loc[("bin", str(at), "r_without_length"), "value"] == pytest.approx(
            truth, abs=0.004
        )
        assert table.loc[("bin", str(at), "r"), "value"] > truth + 0.005


def test_each_quantity_by_a_loop_over_bins():
    pairs = simulated(500, np.full(5, 4.0), per_token=3.0)
    pairs["n_tokens_bad"] += np.random.default_rng(1).integers(0, 3, 500)
    table = table_of(pairs)
    common = pairs["logprob_good"].std(ddof=0)
    ordered = pairs.sort_values("cosine_distance")
    for at, start in enumerate(range(0, 500, 100), start=1):
        expected = direct(ordered.iloc[start : start + 100], common)
        found = table.loc["bin", str(at)].loc[list(QUANTITIES)]
        np.testing.assert_allclose(found["value"], expected, rtol=1e-9)
        assert (found["value_low"] < found["value"]).all()
        assert (found["value"] < found["value_high"]).all()


def direct(part: pd.DataFrame, common: float) -> list[float]:
    """QUANTITIES of the pairs of one bin."""
    x, y = part["logprob_good"].to_numpy(), part["logprob_bad"].to_numpy()
    slope, intercept = np.polyfit(x, y, 1)
    scatter = (y - slope * x - intercept).std()
    lengths = np.column_stack([np.ones(len(part)), part[["n_tokens_good", "n_tokens_bad"]]])
    left = [side - lengths @ np.linalg.lstsq(lengths, side)[0] for side in (x, y)]
    return [
        x.std(), slope, scatter, pearsonr(x, y).statistic,
        slope * common / np.hypot(slope * common, scatter), pearsonr(*left).statistic,
    ]  # fmt: skip


def test_intervals_are_of_draws_of_whole_paradigms():
    """A loop over draws of seven paradigms, the data's bins and common spread as they are."""
    pairs = simulated(70, np.full(5, 4.0), per_token=3.0)
    pairs["n_tokens_bad"] += np.random.default_rng(1).integers(0, 3, 70)
    paradigm = np.arange(70) % 7
    pairs["paradigm"] = [f"pa{k}" for k in paradigm]
    options = replace(OPTIONS, bins=2, bootstrap=25, cluster_by_paradigm=True)
    table = table_of(pairs, options)
    common = pairs["logprob_good"].std(ddof=0)
    second = pairs["cosine_distance"].rank().to_numpy() > 35
    drawn = []
    for counts in np.concatenate(list(resamples(7, 25, options.seed))):
        rows = np.repeat(np.arange(70), counts[paradigm])
        drawn.append([direct(pairs.iloc[rows[second[rows] == at]], common) for at in (False, True)])
    bins = np.array(drawn)
    drawn_by_name = {"1": bins[:, 0], "2": bins[:, 1], "": bins[:, 1] - bins[:, 0]}
    for name, values in drawn_by_name.items():
        found = table.loc["bin" if name else "change", name].loc[list(QUANTITIES)]
        ends = np.quantile(values, (0.025, 0.975), axis=0)
        np.testing.assert_allclose(found[["value_low", "value_high"]].T, ends, rtol=1e-6)
        assert set(found["n"]) == {35 if name else 70}


def test_a_change_is_that_of_the_fitted_line():
    assert changes(np.array([[1.0, 2, 6], [3, 9, 1]])).tolist() == [5, -2]
    assert changes(np.array([[1.0, 4]])).tolist() == [3]
    assert np.isnan(changes(np.array([[1.0]]))).all()


def test_pairs_on_a_line_have_no_scatter_wherever_they_lie():
    """Nor does what they are far from zero cost a digit that counts."""
    pairs = simulated(50, np.zeros(5))
    number = np.arange(50)
    pairs["logprob_good"] = np.sin(number) / 2
    pairs["logprob_bad"] = 2 * pairs["logprob_good"] - 3
    options = replace(OPTIONS, bins=1, bootstrap=5)
    found = table_of(pairs, options).loc["bin", "1"]["value"]
    assert found["spread"] == pytest.approx(np.std(np.sin(number) / 2))
    assert found["residual_sd"] == pytest.approx(0, abs=1e-6)
    assert found[["slope", "r", "r_common_spread"]].to_numpy() == pytest.approx([2, 1, 1])
    scattered = simulated(50, np.full(5, 4.0))
    far = scattered.assign(
        logprob_good=scattered["logprob_good"] - 1e6, logprob_bad=scattered["logprob_bad"] - 1e6
    )
    near, found = (table_of(each, options)["value"] for each in (scattered, far))
    np.testing.assert_allclose(found["bin"], near["bin"], rtol=1e-8)


def messages(paradigms: int, each: int, gap: float = 8.0, noise: float = 3.0) -> pd.DataFrame:
    """Pairs whose messages vary between paradigms (sd 10) and within them (sd 5)."""
    rng = np.random.default_rng(2)
    paradigm = np.repeat(np.arange(paradigms), each)
    message = 10.0 * rng.standard_normal(paradigms)[paradigm]
    message += MESSAGE_SD * rng.standard_normal(len(paradigm))
    sides = message[:, None] + noise * rng.standard_normal((len(paradigm), 2))
    return pd.DataFrame(
        {
            "pair_id": [f"p{i}" for i in range(len(paradigm))],
            "dataset": "made",
            "paradigm": [f"pa{i}" for i in paradigm],
            "phenomenon": "one",
            "logprob_good": sides[:, 0] + gap / 2,
            "logprob_bad": sides[:, 1] - gap / 2,
            "weight": 1.0,
        }
    )


LEVELS = ("pair", "paradigm", "phenomenon", "dataset")


def test_the_area_falls_with_the_spread_as_pools_widen():
    """Φ(gap / spread), where spreads are those that the messages were drawn with."""
    pairs = messages(200, 100)
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, replace(OPTIONS, bootstrap=40))).set_index("pool")
    within = 2 * (MESSAGE_SD**2 + 3.0**2)
    truth = {"pair": 2 * 3.0**2, "paradigm": within, "dataset": within + 2 * 10.0**2}
    # The one phenomenon is the data set.
    assert list(rows.index) == [*truth, "gain"]
    for pool, variance in truth.items():
        row = rows.loc[pool]
        assert row["gap"] == pytest.approx(8, abs=0.1)
        assert row["spread"] == pytest.approx(np.sqrt(variance), rel=0.06)
        assert row["auc"] == pytest.approx(norm.cdf(8 / np.sqrt(variance)), abs=0.02)
        assert row["predicted"] == pytest.approx(row["auc"], abs=0.01)
        assert row["auc_low"] < row["auc"] < row["auc_high"]
    assert rows.loc["gain", "auc"] == pytest.approx(
        rows.loc["pair", "auc"] - rows.loc["dataset", "auc"]
    )
    assert rows.loc["gain", "auc_low"] > 0


def test_small_pools_do_not_hide_their_spread():
    """Of three pairs each: the spread about their mean is by a third too small."""
    rows = pd.DataFrame(pool_rows(messages(4_000, 3), LEVELS, replace(OPTIONS, bootstrap=2)))
    row = rows.set_index("pool").loc["paradigm"]
    assert row["spread"] == pytest.approx(np.sqrt(2 * (MESSAGE_SD**2 + 3.0**2)), rel=0.03)
    assert row["predicted"] == pytest.approx(row["auc"], abs=0.01)


def test_pairing_gains_nothing_where_messages_do_not_vary():
    pairs = messages(40, 50, noise=3.0)
    rng = np.random.default_rng(3)
    for side, shift in (("good", 2.0), ("bad", -2.0)):
        pairs[f"logprob_{side}"] = shift + 3 * rng.standard_normal(len(pairs))
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, OPTIONS)).set_index("pool")
    assert rows.loc["gain", "auc_low"] < 0 < rows.loc["gain", "auc_high"]


def test_each_pool_by_a_loop_over_other_pairs():
    pairs = messages(4, 6)
    pairs.loc[3, "logprob_bad"] = pairs.loc[4, "logprob_good"]  # a tie within the paradigm
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, OPTIONS)).set_index("pool")
    good, bad = pairs["logprob_good"], pairs["logprob_bad"]
    for pool, same in (("paradigm", pairs["paradigm"]), ("dataset", pairs["dataset"])):
        wins = [
            0.5 * (np.sign(good[i] - bad[j]) + 1)
            for i in pairs.index for j in pairs.index if i != j and same[i] == same[j]
        ]  # fmt: skip
        assert rows.loc[pool, "auc"] == pytest.approx(np.mean(wins))
    assert rows.loc["pair", "auc"] == pytest.approx((good > bad).mean())


def area_by_loop(logprob: np.ndarray, pool: np.ndarray, times: np.ndarray) -> float:
    """The area within pools of pairs that count so many times, never beside themselves; pools by
    what is in them, and those with a single pair not at all."""
    total = area = 0.0
    for number in range(pool.max() + 1):
        members = np.flatnonzero((pool == number) & (times > 0))
        others = [(i, j) for i in members for j in members if i != j]
        if others:
            mass = [times[i] * times[j] for i, j in others]
            wins = [logprob[i, 0] > logprob[j, 1] for i, j in others]
            area += times[members].sum() * np.average(wins, weights=mass)
            total += times[members].sum()
    return area / total


def test_a_draw_of_pools_by_a_loop_over_its_copies():
    """In the second draw one pool has a single pair left, in the third two."""
    rng = np.random.default_rng(5)
    pool = np.repeat([0, 1], 5)
    logprob, weight = rng.normal(size=(10, 2)), rng.uniform(0.5, 2, 10)
    counts = np.ones((10, 4))
    counts[:, 1] = [2, 0, 1, 3, 1, 0, 0, 4, 0, 0]
    counts[:, 2] = [0, 1, 0, 2, 0, 1, 1, 0, 3, 1]
    counts[:, 3] = rng.integers(0, 4, 10)
    expected = [area_by_loop(logprob, pool, weight * drawn) for drawn in counts.T]
    found = pool_areas(logprob, pool, weight, np.arange(10), counts)
    np.testing.assert_allclose(found, expected)
    right = logprob[:, 0] > logprob[:, 1]
    shares = [np.average(right, weights=weight * drawn) for drawn in counts.T]
    found = pool_areas(logprob, np.arange(10), weight, np.arange(10), counts)
    np.testing.assert_allclose(found, shares)


def test_intervals_of_all_pools_are_of_the_same_draws_of_units():
    pairs = messages(6, 4, gap=4.0)
    pairs["weight"] = weight = np.random.default_rng(4).uniform(0.5, 2, 24)
    options = replace(OPTIONS, bootstrap=25, cluster_by_paradigm=True)
    rows = pd.DataFrame(pool_rows(pairs, LEVELS, options)).set_index("pool")
    logprob = pairs[["logprob_good", "logprob_bad"]].to_numpy()
    paradigm, right = np.repeat(np.arange(6), 4), logprob[:, 0] > logprob[:, 1]
    drawn: dict[str, list[float]] = {name: [] for name in ("pair", "paradigm", "dataset")}
    for counts in np.concatenate(list(resamples(6, 25, options.seed))):
        times = weight * counts[paradigm]
        drawn["pair"].append(float(np.average(right, weights=times)))
        drawn["paradigm"].append(area_by_loop(logprob, paradigm, times))
        drawn["dataset"].append(area_by_loop(logprob, 0 * paradigm, times))
    areas = {name: np.array(values) for name, values in drawn.items()}
    areas["gain"] = areas["pair"] - areas["dataset"]
    assert list(rows.index) == list(areas)
    for name, values in areas.items():
        ends = rows.loc[name, ["auc_low", "auc_high"]].tolist()
        assert ends == pytest.approx(np.quantile(values, (0.025, 0.975)).tolist())


def test_pools_of_single_pairs_are_not_told_apart_from_the_pairs():
    """Eleven paradigms of twelve pairs, and as many phenomena as pairs."""
    number = np.arange(12)
    pairs = messages(1, 12).assign(
        paradigm=[f"pa{max(k, 1)}" for k in number], phenomenon=[f"ph{k}" for k in number]
    )
    rows = pool_rows(pairs, LEVELS, replace(OPTIONS, bootstrap=2))
    assert [row["pool"] for row in rows] == ["pair", "paradigm", "dataset", "gain"]


def test_pools_by_name():
    pairs = pd.DataFrame({
        "dataset": ["x", "x1", "x", "x1", "x"], "paradigm": ["1y", "y", "1y", None, None]
    })  # fmt: skip
    found = {level: pool_numbers(pairs, level).tolist() for level in ("paradigm", "dataset", "all")}
    assert found == {
        "paradigm": [0, 1, 0, 2, 3], "dataset": [0, 1, 0, 1, 0], "all": [0, 0, 0, 0, 0]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("differences", "spread", "predicted"),
    [([0.5, 1.5], 0.5, norm.cdf(2)), ([0.5, 0.5], 0.0, 1.0), ([0.0, 0.0], 0.0, 0.0)],
)
def test_gap_spread_and_their_area_by_hand(differences, spread, predicted):
    logprob = np.column_stack([differences, [0.0, 0.0]])
    found = binormal(logprob, np.arange(2), np.ones(2))
    expected = {"gap": np.mean(differences), "spread": spread, "predicted": predicted}
    assert found == pytest.approx(expected)


def test_a_variance_within_pools_is_unbiased_and_of_several():
    """Of 1 and 3, variance 2, weight 3; of 5, 9 and 10, variance 7, weight 2; 20 is alone."""
    values, pool = np.array([1.0, 3, 5, 9, 10, 20]), np.array([0, 0, 1, 1, 1, 2])
    weight = np.array([1.0, 2, 0.5, 0.5, 1, 9])
    assert variance_within(values, pool, weight) == pytest.approx((3 * 2 + 2 * 7) / 5)
