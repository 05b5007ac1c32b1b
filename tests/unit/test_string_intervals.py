"""Confounds of the predictions on simulated pairs, and intervals over clusters."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, pearsonr

from lingprob.papers.string_probability.analysis import (
    LIMITS,
    QUANTITIES,
    UNLIMITED,
    changes,
    confounds_of,
    correlations_of,
    quantities,
    separation_rows,
)
from lingprob.papers.string_probability.data import METRICS, Options, variables
from lingprob.stats.resampling import resamples, widened

FIVE_BINS = Options(100, "pairs", 1, "demo", bins=5)
SPREADS = np.array([22.0, 19.0, 17.0, 14.0, 12.0])


def simulated(pairs: int, residual_sd: np.ndarray, per_token: float = 0.0) -> pd.DataFrame:
    """Pairs in five bins whose spread falls as in BLiMP; slope one, residuals as given by bin."""
    rng = np.random.default_rng(0)
    number = np.arange(pairs) % 5
    length = rng.integers(4, 30, pairs)
    good = -60 + SPREADS[number] * rng.standard_normal(pairs) - per_token * length
    bad = good - 8 + residual_sd[number] * rng.standard_normal(pairs)
    return pd.DataFrame(
        {
            "pair_id": [f"p{i}" for i in range(pairs)], "paradigm": "one", "dataset": "made",
            "logprob_good": good, "logprob_bad": bad, "n_tokens_good": length,
            "n_tokens_bad": length, "cosine_distance": number + 0.1 * rng.random(pairs),
        }
    )  # fmt: skip


def table_of(pairs: pd.DataFrame, options: Options = FIVE_BINS) -> pd.DataFrame:
    rows = pd.DataFrame(confounds_of(variables(pairs, 1), options))
    return rows.set_index(["subset", "name", "quantity"]).sort_index()


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
    options = Options(25, "clusters", 1, "demo", bins=2)
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
        members = np.full(70, True) if not name else second == (name == "2")
        ends = np.quantile(values, (0.025, 0.975), axis=0)
        sizes = np.bincount(paradigm[members])
        for (quantity, row), pair in zip(found.iterrows(), ends.T, strict=True):
            limits = LIMITS.get(quantity, UNLIMITED) if name else UNLIMITED
            expected = widened(row["value"], tuple(pair), sizes, limits)
            assert row[["value_low", "value_high"]].tolist() == pytest.approx(expected)
        assert set(found["n"]) == {35 if name else 70}


def test_a_change_is_that_of_the_fitted_line():
    assert changes(np.array([[1.0, 3], [2, 9], [6, 1]])).tolist() == [5, -2]
    assert changes(np.array([[[1.0], [4.0]]])).tolist() == [[3]]
    assert np.isnan(changes(np.array([[1.0]]))).all()


def test_pairs_on_a_line_have_no_scatter():
    """Values far from zero do not lose digits."""
    pairs = simulated(50, np.zeros(5))
    number = np.arange(50)
    pairs["logprob_good"] = np.sin(number) / 2
    pairs["logprob_bad"] = 2 * pairs["logprob_good"] - 3
    options = Options(5, "pairs", 1, "demo", bins=1)
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


@pytest.mark.parametrize(("column", "known"), [("good", "spread"), ("bad", "slope")])
def test_a_constant_bin_has_no_r_nor_change(column, known):
    pairs = simulated(100, np.full(5, 4.0), per_token=3.0)
    pairs.loc[pairs["cosine_distance"] < 0.5, f"logprob_{column}"] = 0.1
    table = table_of(pairs)
    correlations = ["r", "r_common_spread", "r_without_length"]
    for subset in (table.loc["bin", "1"], table.loc["change", ""]):
        assert subset.loc[correlations, ["value", "value_low", "value_high"]].isna().all(axis=None)
    assert table.loc[("bin", "1", known), "value"] == pytest.approx(0, abs=1e-6)
    assert np.isfinite(table.loc["bin", "2"]).all(axis=None)


def test_three_pairs_have_no_r_without_length():
    """Two lengths and a constant fit three pairs, however often they were drawn."""
    for seed in range(40):
        rows = np.random.default_rng(seed).normal(size=(4, 4)) * [9, 9, 1, 1]
        wide = np.column_stack([np.ones(4), rows])
        products = np.einsum("ij,ik->ijk", wide, wide).reshape(4, -1)
        three, four = (np.array(n) @ products for n in ([1, 3, 1, 0], [1, 3, 1, 2]))
        assert np.isnan(quantities(three, 1.0)[-1])
        assert abs(quantities(four, 1.0)[-1]) == pytest.approx(1)


# Standard deviations between and within clusters that SmolLM2 has: of a pair's mean log-probability
# and of its difference, with the mean difference; and those of rating differences of LI.
LI_ARTICLES = np.quantile(
    np.random.default_rng(0).exponential(12, 10_000), (np.arange(62) + 0.5) / 62
)
CLUSTERS = {
    "li_large": (LI_ARTICLES.round().clip(1, 54).astype(int), (10.8, 14.9), (4.97, 3.65, 8.0)),
    "scamp_plausible": (np.full(67, 8), (24.3, 8.6), (2.27, 4.7, 4.0)),
}
RATINGS = (0.97, 0.33, 0.59)
SHARED = 0.38  # correlation of both differences


def clustered(sizes: np.ndarray, mean: tuple, difference: tuple, rng: np.random.Generator) -> tuple:
    """Return each pair's cluster, log-probabilities of both sides and difference in ratings."""
    cluster = np.repeat(np.arange(len(sizes)), sizes)
    of_cluster, own = (
        rng.normal(size=(3, len(sizes)))[:, cluster],
        rng.normal(size=(3, len(cluster))),
    )
    for noise in (of_cluster, own):
        noise[2] = SHARED * noise[1] + np.sqrt(1 - SHARED**2) * noise[2]
    message = mean[0] * of_cluster[0] + mean[1] * own[0]
    gap, rating = (
        level + between * of_cluster[place] + within * own[place]
        for place, (level, between, within) in ((1, difference), (2, RATINGS))
    )
    return cluster, message + gap / 2, message - gap / 2, rating


def true_values(mean: tuple, difference: tuple) -> dict[str, float]:
    """Return the quantities over infinitely many clusters."""
    level, *gap = difference
    of_mean, of_gap = (sum(np.square(values)) for values in (mean, gap))
    accuracy, area = norm.cdf([level / np.sqrt(of_gap), level / np.sqrt(2 * of_mean + of_gap / 2)])
    shared = SHARED * np.dot(gap, RATINGS[1:])
    return {
        "r of 1": (of_mean - of_gap / 4) / (of_mean + of_gap / 4),
        "r of 2": shared / np.sqrt(of_gap * sum(np.square(RATINGS[1:]))),
        "accuracy": accuracy, "auc": area, "gain": accuracy - area,
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CLUSTERS)
def test_intervals_cover_the_truth_in_500_simulations(name):
    """The area's target also has comparisons within clusters, so it is the mean estimate."""
    rows = []
    for seed in range(500):
        cluster, good, bad, rating = clustered(*CLUSTERS[name], np.random.default_rng(seed))
        options = Options(1000, "clusters", seed, "demo", bins=10**6)
        pairs = pd.DataFrame({"pair_id": [f"p{k}" for k in range(len(cluster))], "dataset": "d",
                              "paradigm": [f"a{k}" for k in cluster], "cosine_distance": 0.1,
                              "rating_source": "human", "meaning_matched": True})  # fmt: skip
        sentences = pd.concat([
            pairs.assign(item_id=pairs["pair_id"] + kind, grammatical=kind == "g", logprob=side)
            for kind, side in (("g", good), ("b", bad))
        ])  # fmt: skip
        sentences = sentences.assign(weight=1.0, phenomenon="h", rating=0.0, n_tokens=5)
        sentences[list(METRICS[1:])] = np.nan
        row = separation_rows(sentences, options)[0]
        for key, x, y in (("r of 1", good, bad), ("r of 2", rating, good - bad)):
            (found,) = correlations_of(pairs.assign(x=x, y=y), options)
            row |= {f"{key}{end}": found[f"r{end}"] for end in ("", "_low", "_high")}
        rows.append(row)
    table, truth = pd.DataFrame(rows), true_values(*CLUSTERS[name][1:])
    means = table[list(truth)].mean()
    assert means.to_dict() == pytest.approx(truth, abs=0.01)
    truth |= means[["auc", "gain"]].to_dict()
    covered = {
        key: table[f"{key}_low"].le(value) & table[f"{key}_high"].ge(value)
        for key, value in truth.items()
    }
    shares = pd.DataFrame(covered).mean()
    assert shares.between(0.93, 0.97).all(), shares.to_dict()
