"""The theory as a program: exact sums, the paper's closed forms, and what breaks a prediction."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
import pytest
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
    with_errors,
)
from lingprob.papers.string_probability.pools import pool_rows
from lingprob.papers.string_probability.simulation import SWEEPS, point_rows, simulate, statistics
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
