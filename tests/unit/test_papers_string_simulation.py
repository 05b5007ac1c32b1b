"""The theory as a program: exact sums, the paper's closed forms, and what breaks a prediction."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import logit, logsumexp
from scipy.stats import norm

from lingprob.papers.string_probability.confounds import confounds_of
from lingprob.papers.string_probability.data import Options, variables
from lingprob.papers.string_probability.generator import (
    Parameters,
    closed_forms,
    draw_pairs,
    draw_world,
    growth,
    log_masses,
    pair_table,
    with_errors,
)
from lingprob.papers.string_probability.pools import pool_rows
from lingprob.papers.string_probability.simulation import (
    SWEEPS,
    WORLDS,
    point_rows,
    simulate,
    statistics,
)
from lingprob.schemas import SCHEMAS
from lingprob.tables import read_table, write_table

SPARSE = Parameters(messages=400, severity=2.0)
OPTIONS = Options(
    bins=2,
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


def test_probabilities_of_all_strings_by_a_loop_over_messages_and_places():
    parameters = Parameters(
        spread=2.0, words=3, length=3, error=0.2, severity=1.0, error_slope=-0.3
    )
    world, _ = draw_world(parameters, 3, 6, np.random.default_rng(0))
    strings = list(product(range(3), repeat=3))
    total = 0.0
    for message, realization in enumerate(world.strings):
        odds = np.exp(world.log_odds[message])
        steps = []
        for string in strings:
            step = 1.0
            for place in range(3):
                if string[place] != realization[place]:
                    step *= 0.2 / 6 * np.exp(world.log_weight[place, string[place]])
            steps.append(0.0 if string == tuple(realization) else step)
        expected = (
            np.exp(world.log_prior[message])
            / (1 + odds)
            * np.array([odds * step / sum(steps) if step else 1.0 for step in steps])
        )
        found = np.exp(world.log_joint(*world.errors_to(np.array(strings)))[message])
        np.testing.assert_allclose(found, expected)
        total += found.sum()
    assert total == pytest.approx(np.exp(world.log_prior).sum())
    assert len(np.unique(world.strings, axis=0)) == len(world.strings)


def test_pairs_are_of_a_realization_and_of_a_string_so_many_errors_away():
    parameters = Parameters(messages=50, distance=3, length_range=2)
    for length in parameters.lengths:
        world, bad = draw_world(parameters, length, 10, np.random.default_rng(1))
        assert world.strings.shape == bad.shape == (10, length)
        assert (np.diag(world.errors_to(bad)[0]) == 3).all()
    table = draw_pairs(parameters, 0)
    assert table["n_words"].value_counts().to_dict() == dict.fromkeys(range(10, 15), 10)
    assert np.exp(table["message"]).sum() == pytest.approx(1)
    strings = np.zeros((1000, 4), dtype=np.int64)
    changed = with_errors(strings, 2, 3, np.random.default_rng(0))
    assert ((changed != 0).sum(axis=1) == 2).all()
    assert set(np.unique(changed)) == {0, 1, 2}


def test_a_string_that_realizes_another_message_is_no_error():
    parameters = Parameters(messages=12, words=2, length=4)
    world, bad = draw_world(parameters, 4, 12, np.random.default_rng(0))
    realized = {tuple(string) for string in world.strings}
    ungrammatical = [tuple(string) not in realized for string in bad]
    assert 0 < sum(ungrammatical) < len(bad)
    pairs = draw_pairs(parameters, 0)
    assert len(pairs) == sum(ungrammatical)
    prior = world.log_prior - np.log(np.exp(world.log_prior).sum())
    np.testing.assert_allclose(pairs["message"], prior[: len(bad)][ungrammatical])


def test_a_rating_counts_the_errors():
    parameters = replace(SPARSE, rating_range=(-np.inf, np.inf))
    for distance in (1, 2):
        pairs = draw_pairs(replace(parameters, distance=distance), 0)
        lost = (pairs["rating_good"] - pairs["rating_bad"]).mean()
        assert lost == pytest.approx(distance * parameters.error_points, abs=0.15)
    in_range = draw_pairs(replace(SPARSE, distance=6), 0)["rating_bad"]
    assert in_range.between(1, 7).all()


def test_one_message_gives_the_paper_s_k_e_to_the_d():
    """P(s | m, G = 0) P(G = 0 | m) is (e / K)^d for rare errors (string_probability, §2.2)."""
    parameters = Parameters(messages=1, severity=0.0, error=1e-6)
    for distance in (1, 2, 3):
        (pair,) = draw_pairs(replace(parameters, distance=distance), 0).itertuples()
        k = parameters.length * (parameters.words - 1)
        assert pair.logprob_good == pytest.approx(np.log1p(-1e-6), abs=1e-12)
        assert pair.logprob_bad == pytest.approx(distance * np.log(1e-6 / k), abs=1e-4)


@pytest.mark.parametrize(
    "parameters",
    [
        SPARSE,
        replace(SPARSE, spread=4.0),
        replace(SPARSE, distance=2, severity=1.5),
        replace(SPARSE, error=0.01, words=400),
        replace(SPARSE, spread=3.0, severity=1.0, error=1e-4, error_slope=-0.6),
        replace(SPARSE, length_range=3),
    ],
)
def test_closed_forms_where_messages_lie_far_apart(parameters):
    parameters = replace(parameters, rating_range=(-np.inf, np.inf))
    rows = pd.DataFrame(point_rows(parameters, 0)).set_index("statistic")
    shown = rows.loc[["r_pairs", "r_ratings", "gap", "accuracy", "auc"]]
    tolerance = {"r_pairs": 0.02, "r_ratings": 0.035, "gap": 0.3, "accuracy": 0.01, "auc": 0.02}
    for name, row in shown.iterrows():
        assert row["estimate"] == pytest.approx(row["closed_form"], abs=tolerance[str(name)])
        assert row["estimate_low"] <= row["estimate"] <= row["estimate_high"]
    race = rows.loc["gap", "estimate"] / rows.loc["spread_of_difference", "estimate"]
    assert rows.loc["auc", "estimate"] == pytest.approx(norm.cdf(race), abs=0.015)


def test_the_three_predictions_follow():
    """1a, 1b, 2b and 3, in a denser world than the closed forms are for."""
    by_distance = [measured(words=8, distance=d) for d in (1, 3, 6)]
    falls = [row["r_pairs"] for row in by_distance]
    assert falls[0] > 0.9 > falls[1] > falls[2] + 0.2
    assert falls[2] < closed_forms(Parameters(words=8, distance=6))["r_pairs"] - 0.3
    sparse, dense = measured(words=50, distance=2), measured(words=3, distance=2)
    assert sparse["r_ratings"] > dense["r_ratings"] + 0.2
    alike, unlike = measured(spread=2.0), measured(spread=20.0)
    assert alike["auc"] > 0.95 > unlike["accuracy"] - 0.05 > unlike["auc"] + 0.15
    varied = measured(length_range=6)
    assert varied["auc_mean_logprob"] > varied["auc"] + 0.08


def measured(**given) -> pd.Series:
    """The mean of each statistic over three worlds."""
    parameters = Parameters(**given)
    return pd.DataFrame(
        [statistics(draw_pairs(parameters, n), parameters) for n in range(3)]
    ).mean()


def test_what_each_broken_assumption_does():
    whole = measured()
    assert whole[["assumption_3", "assumption_4", "assumption_5", "assumption_6"]].max() < 0.01
    rare = {"spread": 3.0, "severity": 1.0, "error": 1e-4}
    following = measured(error_slope=-1.0, **rare)
    assert following["assumption_3"] == pytest.approx(1, abs=0.02)
    assert following["r_pairs"] == pytest.approx(0, abs=0.15)
    assert following["accuracy"] == pytest.approx(1, abs=0.005)
    # As probable as the pair's own message, and one error away, a neighbour has half of P(s').
    assert measured(lure_distance=1)["assumption_4"] == pytest.approx(1, abs=0.2)
    near = measured(lure_distance=1, lure_excess=20.0)
    assert near["assumption_4"] == pytest.approx(2, abs=0.01)
    assert near["r_pairs"] > 0.95
    assert near["accuracy"] < 0.2
    far = measured(lure_distance=3, lure_excess=40.0, lure_of_pair=False)
    assert far["assumption_5"] > 1 > far["assumption_6"]
    assert far["r_pairs"] < 0.6
    unlike = measured(lure_distance=1, lure_spread=15.0)
    assert unlike["r_pairs"] < 0.9 < whole["r_pairs"]
    assert unlike["r_ratings"] < whole["r_ratings"] - 0.15
    certain = measured(lure_distance=1, lure_excess=60.0, lure_spread=18.0)
    assert certain["assumption_6"] == pytest.approx(18 / 12, rel=0.15)


def test_masses_and_growth_by_hand():
    prior = np.log(np.array([0.1, 0.2, 0.3, 0.4]))
    errors = np.array([[1, 2], [1, 2], [3, 4], [3, 2]])
    masses = log_masses(prior, errors, 4)
    np.testing.assert_allclose(np.exp(masses)[:, 0], [0, 0.3, 0, 0.7, 0], atol=1e-12)
    np.testing.assert_allclose(np.exp(masses)[:, 1], [0, 0, 0.7, 0, 0.3], atol=1e-12)
    expected = [np.log(0.7 / 0.3) / 2 - np.log(5), np.log(0.3 / 0.7) / 2 - np.log(5)]
    np.testing.assert_allclose(growth(masses, 5), expected)


def test_pools_of_a_simulated_world_are_decomposed_to_its_truth():
    pairs = draw_pairs(replace(SPARSE, messages=900), 0).assign(
        pair_id=lambda table: table.index.astype(str), dataset="made", paradigm="one",
        phenomenon="one", weight=1.0,
    )  # fmt: skip
    options = replace(OPTIONS, bootstrap=20)
    rows = pd.DataFrame(pool_rows(pairs, ("pair", "dataset"), options)).set_index("pool")
    truth = closed_forms(SPARSE)
    assert rows.loc["pair", "gap"] == pytest.approx(truth["gap"], abs=0.4)
    assert rows.loc["pair", "spread"] == pytest.approx(SPARSE.severity, abs=0.3)
    spread = np.hypot(np.sqrt(2) * SPARSE.spread, SPARSE.severity)
    assert rows.loc["dataset", "spread"] == pytest.approx(spread, rel=0.04)
    assert rows.loc["dataset", "auc"] == pytest.approx(truth["auc"], abs=0.015)
    assert rows.loc["dataset", "predicted"] == pytest.approx(truth["auc"], abs=0.015)


def test_worlds_that_differ_in_spread_alone_agree_at_a_common_spread():
    worlds = [draw_pairs(replace(SPARSE, messages=900, spread=spread), 0) for spread in (15.0, 6.0)]
    pairs = pd.concat(worlds, ignore_index=True).assign(
        pair_id=lambda table: table.index.astype(str), paradigm="one",
        n_tokens_good=12, n_tokens_bad=12,
        cosine_distance=np.repeat([0.1, 0.9], [len(world) for world in worlds]),
    )  # fmt: skip
    rows = pd.DataFrame(confounds_of(variables(pairs, 1), OPTIONS))
    found = rows[rows["subset"] == "bin"].set_index(["quantity", "name"])["value"]
    for name, spread in (("1", 15.0), ("2", 6.0)):
        truth = closed_forms(replace(SPARSE, spread=spread))["r_pairs"]
        assert found["r", name] == pytest.approx(truth, abs=0.01)
    common = found["r_common_spread", "1"], found["r_common_spread", "2"]
    assert common[0] == pytest.approx(common[1], abs=0.01)
    assert found["r", "1"] - found["r", "2"] > 0.03


def test_the_sweeps_make_a_table_and_start_from_the_theory_as_it_is(monkeypatch, tmp_path):
    monkeypatch.setattr("lingprob.papers.string_probability.simulation.WORLDS", 2)
    few = {name: replace(sweep, values=sweep.values[:1], curves=sweep.curves[:1],
                         others={**sweep.others, "messages": 20})
           for name, sweep in SWEEPS.items()}  # fmt: skip
    monkeypatch.setattr("lingprob.papers.string_probability.simulation.SWEEPS", few)
    table = simulate("demo", 1)
    write_table(table, "string_simulations", tmp_path / "simulations.parquet")
    again = read_table(tmp_path / "simulations.parquet", "string_simulations")
    assert list(again.columns) == SCHEMAS["string_simulations"].names
    assert set(again["sweep"]) == set(SWEEPS)
    pd.testing.assert_frame_equal(table, simulate("demo", 1))
    for name, sweep in SWEEPS.items():
        points = list(sweep.points())
        assert len(points) == len(sweep.values) * len(sweep.curves)
        if name.startswith("assumption"):  # holds at the first value, is broken at the last
            first, last = (
                statistics(draw_pairs(points[place][2], 0), points[place][2])[name]
                for place in (0, -1)
            )
            assert first < 1 < last


def test_what_is_simulated():
    assert asdict(Parameters()) == {
        "messages": 150, "spread": 12, "words": 50, "length": 12, "length_range": 0,
        "per_word": 6, "error": 0.05, "error_slope": 0, "severity": 3, "distance": 1,
        "lure_distance": None, "lure_excess": 0, "lure_spread": 0, "lure_of_pair": True,
        "message_points": 0.03, "error_points": 1, "weight_points": 0.3, "acceptable": 5.2,
        "rating_sd": 0.5, "rating_range": (1, 7),
    }  # fmt: skip
    rare = {"spread": 3, "severity": 1, "error": 1e-4}
    assert {name: (sweep.parameter, sweep.values, sweep.curve, sweep.curves, sweep.others)
            for name, sweep in SWEEPS.items()} == {
        "spread": ("spread", (1, 2, 4, 8, 12, 18, 25), "severity", (1, 2, 4), {}),
        "distance": ("distance", (1, 2, 3, 4, 6, 8), "words", (3, 8, 50), {}),
        "error": ("error", (0.0001, 0.001, 0.01, 0.1), "words", (8, 50, 400), {}),
        "length": ("length_range", (0, 1, 2, 3, 4, 6), "per_word", (3, 6), {}),
        "assumption_3": ("error_slope", (0, -0.4, -0.8, -1.2, -1.6), "", (0,), rare),
        "assumption_4": ("lure_excess", (-10, -5, 0, 5, 10, 15, 20), "", (0,),
                         {"lure_distance": 1}),
        "assumption_5": ("lure_excess", (-10, 0, 10, 20, 30, 40), "", (0,),
                         {"lure_distance": 3, "lure_of_pair": False}),
        "assumption_6": ("lure_spread", (0, 5, 10, 15, 20, 30), "", (0,), {"lure_distance": 1}),
    }  # fmt: skip
    ((curve, value, chosen), *_, (last, end, other)) = SWEEPS["spread"].points()
    assert (curve, value, chosen) == (1, 1, replace(Parameters(), spread=1, severity=1))
    assert (last, end, other) == (4, 25, replace(Parameters(), spread=25, severity=4))


def test_a_point_is_the_mean_of_five_worlds_with_the_t_interval_of_the_mean():
    parameters = Parameters(messages=20, words=8)
    assert WORLDS == 5
    each = pd.DataFrame([statistics(draw_pairs(parameters, 3 + n), parameters) for n in range(5)])
    for row in point_rows(parameters, 3):
        drawn = each[row["statistic"]]
        reach = 2.776445 * drawn.std() / np.sqrt(5)  # t of 4 degrees of freedom
        ends = [row["estimate"], row["estimate_low"], row["estimate_high"]]
        expected = [drawn.mean(), drawn.mean() - reach, drawn.mean() + reach]
        assert ends == pytest.approx(expected, nan_ok=True)


def test_statistics_of_four_pairs_by_hand():
    """Three right, one a tie; two near masses known."""
    pairs = pd.DataFrame({
        "logprob_good": [-10.0, -20, -30, -40], "logprob_bad": [-15.0, -20, -36, -50],
        "rating_good": [6.0, 5, 6, 4], "rating_bad": [3.0, 4, 3, 2], "n_words": [4, 4, 8, 8],
        "message": [-1.0, -2, -3, -6], "log_odds": [-3.0, -2, -1, -0.5],
        "near": [1.0, -np.inf, 3.0, -np.inf], "others": [0.1, 0.2, 0.4, 0.9],
        "growth": [0.0, 0.5, 1.5, 9.0],
    })  # fmt: skip
    good, bad = pairs["logprob_good"], pairs["logprob_bad"]
    log_error = np.log(1 / (1 + np.exp(-pairs["log_odds"])))
    expected = {
        "r_pairs": np.corrcoef(good, bad)[0, 1],
        "r_ratings": np.corrcoef([3, 1, 3, 2], [5, 0, 6, 10])[0, 1],
        "gap": 21 / 4,
        "accuracy": 3 / 4,
        # Of sixteen comparisons, in sentences and a word.
        "auc": np.mean([(a > b) + (a == b) / 2 for a in good for b in bad]),
        "auc_mean_logprob": np.mean([
            (a > b) + (a == b) / 2
            for a in (-2.5, -5, -3.75, -5) for b in (-3.75, -5, -4.5, -6.25)
        ]),
        "spread_of_difference": np.sqrt(np.var(good) + np.var(bad)),
        "assumption_3": abs(np.cov(log_error, pairs["message"], ddof=0)[0, 1]) / 3.5,
        "assumption_4": 0.6,
        "assumption_5": np.e * 0.2,
        "assumption_6": 1 / np.sqrt(3.5),
    }  # fmt: skip
    assert statistics(pairs, Parameters(error=0.2)) == pytest.approx(expected)
    alone = pairs.assign(near=[1.0, -np.inf, -np.inf, -np.inf])
    assert np.isnan(statistics(alone, Parameters())["assumption_6"])
    two = pairs.assign(near=[1.0, 1.0, -np.inf, -np.inf])
    assert statistics(two, Parameters())["assumption_6"] == 0


def test_a_world_has_the_parameters_priors_odds_and_weights():
    given = Parameters(words=5, length=4, per_word=2.0, error=0.2, error_slope=-0.5, severity=1.5)
    world, bad = draw_world(replace(given, spread=3.0), 4, 20, np.random.default_rng(0))
    level = -2.0 * 4
    assert world.log_odds == pytest.approx(logit(0.2) - 0.5 * (world.log_prior - level))
    assert 1.5 < world.log_prior.std() < 4.5
    assert abs(world.log_prior.mean() - level) < 3
    assert world.log_step == pytest.approx(np.log(0.2 / (4 * 4)))
    quantiles = 1.5 * norm.ppf((np.arange(20) + 0.5) / 20)
    assert given.log_weights(4) == pytest.approx(quantiles)
    assert np.sort(world.log_weight, axis=None) == pytest.approx(quantiles)
    assert world.log_weight.shape == (4, 5)
    lured = replace(given, words=50, spread=3.0, lure_distance=2, lure_excess=1.0)
    for of_pair in (True, False):
        parameters = replace(lured, lure_of_pair=of_pair)
        world, bad = draw_world(parameters, 4, 8, np.random.default_rng(1))
        prior, lures = world.log_prior[:8], world.log_prior[8:]
        assert len(lures) == 8
        assert (world.errors_to(bad)[0][8:].diagonal() == 2).all()
        assert lures == pytest.approx(prior + 1 if of_pair else np.full(8, level + 1))
    parameters = replace(lured, lure_spread=5.0)
    prior = draw_world(parameters, 4, 400, np.random.default_rng(1))[0].log_prior
    assert (prior[400:] - prior[:400]).std() == pytest.approx(5, rel=0.1)


@pytest.mark.parametrize(("words", "messages"), [(2, 8), (50, 100)])
def test_messages_differ_and_scatter_about_their_level_and_lures_about_them(words, messages):
    """What is drawn once more in the same order; of two words there are but eight messages."""
    parameters = Parameters(words=words, length=3, per_word=1.5, spread=2.0, distance=1,
                            lure_distance=2, lure_excess=0.5, lure_spread=3.0)  # fmt: skip
    world, bad = draw_world(parameters, 3, 100, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    strings = rng.permutation(np.unique(rng.integers(words, size=(100, 3)), axis=0))
    assert len(strings) == messages
    prior = -4.5 + 2.0 * rng.standard_normal(messages)
    np.testing.assert_array_equal(bad, with_errors(strings, 1, words, rng))
    lures = with_errors(bad, 2, words, rng)
    excess = 0.5 + 3.0 * rng.standard_normal(messages)
    realized = {tuple(string) for string in strings}
    new = np.array([tuple(string) not in realized for string in lures])
    assert new.all() == (words == 50)
    np.testing.assert_array_equal(world.strings, np.concatenate([strings, lures[new]]))
    np.testing.assert_allclose(world.log_prior, np.append(prior, (prior + excess)[new]))


@pytest.mark.parametrize("lure_distance", [None, 1])
def test_a_pair_s_columns_by_a_loop_over_messages(lure_distance):
    """In a world so dense that nearest, likeliest and own messages differ."""
    parameters = Parameters(
        words=3, length=3, spread=2.0, error=0.3, severity=1.0, per_word=1.5, distance=2,
        lure_distance=lure_distance, rating_sd=0.0, rating_range=(3.0, 6.0), error_points=0.8,
    )  # fmt: skip
    world, bad = draw_world(parameters, 3, 6, np.random.default_rng(3))
    table = pair_table(world, bad, parameters, np.random.default_rng(0))
    realized = {tuple(string) for string in world.strings}
    own = [place for place, string in enumerate(bad) if tuple(string) not in realized]
    assert len(table) == len(own) > 0
    assert (table["n_words"] == 3).all()
    for row, place in zip(table.itertuples(), own, strict=True):
        assert row.message == pytest.approx(world.log_prior[place])
        assert row.log_odds == pytest.approx(world.log_odds[place])
        for side, string in (("good", world.strings[place]), ("bad", bad[place])):
            steps = (world.strings != string).sum(axis=1)
            joint = world.log_joint(*world.errors_to(string[None]))[:, 0]
            assert getattr(row, f"logprob_{side}") == pytest.approx(logsumexp(joint))
            likeliest = int(joint.argmax())
            differs = world.strings[likeliest] != string
            weight = world.log_weight[np.arange(3), string][differs].sum()
            rating = 5.2 + 0.03 * (world.log_prior[likeliest] + 4.5) + 0.3 * weight
            rating -= 0.8 * differs.sum()
            assert getattr(row, f"rating_{side}") == pytest.approx(np.clip(rating, 3, 6))
        share = np.exp(joint[place] - logsumexp(joint))
        assert row.others == pytest.approx(1 - share)
        masses = [np.exp(world.log_prior[steps == d]).sum() for d in range(4)]
        with np.errstate(divide="ignore"):
            assert row.near == pytest.approx(np.log(masses[1]) - world.log_prior[place])
        first = next(d for d in range(4) if masses[d])
        rises = [np.log(masses[d] / masses[first]) / (d - first)
                 for d in range(first + 1, 4) if masses[d]]  # fmt: skip
        assert row.growth == pytest.approx(max(rises, default=-np.inf) - np.log(6))


def test_closed_forms_by_hand():
    """Of six lengths' messages, 2 errors and a slope."""
    found = closed_forms(Parameters(
        words=4, length=5, length_range=1, per_word=2.0, spread=3.0, error=0.1, error_slope=-0.25,
        severity=1.5, distance=2, weight_points=0.4, rating_sd=0.6,
    ))  # fmt: skip
    weights = 1.5 * norm.ppf((np.arange(20) + 0.5) / 20)
    step = 0.1 / 15
    total = (1 + 3 * step * np.mean(np.exp(weights))) ** 5 - 1
    gap = -np.log(0.1) - 2 * np.log(step) + np.log(total)
    lengths, scatter = 4 * 2 / 3, np.sqrt(2) * weights.std()
    good, bad = 9 + lengths, 2.25**2 + scatter**2 + lengths
    within = np.sqrt(0.75**2 + scatter**2)
    noise = np.sqrt((0.4 * scatter) ** 2 + 2 * 0.6**2)
    assert found == pytest.approx({
        "r_pairs": (3 * 2.25 + lengths) / np.sqrt(good * bad),
        "r_ratings": 0.4 * scatter**2 / (noise * within),
        "gap": gap,
        "accuracy": norm.cdf(gap / within),
        "auc": norm.cdf(gap / np.sqrt(good + bad)),
    })  # fmt: skip
