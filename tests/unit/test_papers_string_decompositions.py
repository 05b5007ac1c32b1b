"""Correlations without the confound, and what separates, on simulated pairs with known truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, pearsonr

from lingprob.papers.string_probability.confounds import QUANTITIES, confounds_of
from lingprob.papers.string_probability.data import Options, variables
from lingprob.papers.string_probability.pools import pool_areas, pool_rows

OPTIONS = Options(
    bins=5,
    levenshtein_unit="characters",
    levenshtein_quantile=0.75,
    levenshtein_comparison="at_most",
    levenshtein_population="rated",
    bootstrap=100,
    cluster_by_paradigm=False,
    folds=5,
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
        part = ordered.iloc[start : start + 100]
        x, y = part["logprob_good"].to_numpy(), part["logprob_bad"].to_numpy()
        slope, intercept = np.polyfit(x, y, 1)
        scatter = (y - slope * x - intercept).std()
        lengths = np.column_stack([np.ones(100), part[["n_tokens_good", "n_tokens_bad"]]])
        left = [side - lengths @ np.linalg.lstsq(lengths, side)[0] for side in (x, y)]
        expected = [
            x.std(), slope, scatter, pearsonr(x, y).statistic,
            slope * common / np.hypot(slope * common, scatter), pearsonr(*left).statistic,
        ]  # fmt: skip
        found = table.loc["bin", str(at)].loc[list(QUANTITIES)]
        np.testing.assert_allclose(found["value"], expected, rtol=1e-9)
        assert (found["value_low"] < found["value"]).all()
        assert (found["value"] < found["value_high"]).all()


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


def test_a_draw_of_pools_by_a_loop_over_its_copies():
    """Pairs count as often as they were drawn, times their weight, and never beside themselves;
    pools by the weight in them. In the second draw one pool has a single pair left."""
    rng = np.random.default_rng(5)
    pool = np.repeat([0, 1], 5)
    logprob, weight = rng.normal(size=(10, 2)), rng.uniform(0.5, 2, 10)
    counts = np.ones((10, 3))
    counts[:, 1] = [2, 0, 1, 3, 1, 0, 0, 4, 0, 0]
    counts[:, 2] = rng.integers(0, 4, 10)
    expected = []
    for times in (weight * drawn for drawn in counts.T):
        total = area = 0.0
        for number in (0, 1):
            members = np.flatnonzero((pool == number) & (times > 0))
            others = [(i, j) for i in members for j in members if i != j]
            if others:
                mass = [times[i] * times[j] for i, j in others]
                wins = [logprob[i, 0] > logprob[j, 1] for i, j in others]
                area += times[members].sum() * np.average(wins, weights=mass)
                total += times[members].sum()
        expected.append(area / total)
    found = pool_areas(logprob, pool, weight, np.arange(10), counts)
    np.testing.assert_allclose(found, expected)
