"""The logistic model with a random intercept: glmer's values, dense checks, errors by item."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom

import mixed_data
from lingprob.errors import LingprobError
from lingprob.stats.logistic_mixed import (
    Cells,
    MixedLogisticFit,
    aggregate,
    all_interactions,
    cells_in_groups,
    checked_cells,
    deviance,
    fit_mixed_logistic,
    item_standard_errors,
    laplace_optimum,
)
from mixed_data import LOGISTIC, Numbers, accuracies

FACTS = json.loads(Path(mixed_data.__file__).with_name("mixed_facts.json").read_text())
TERMS = ["log_length", "matched", "acceptable"]


def fit_of(frame: pd.DataFrame) -> MixedLogisticFit:
    terms = all_interactions(frame[TERMS])
    return fit_mixed_logistic(frame["correct"], frame["trials"], terms, frame["phenomenon"])


@pytest.mark.parametrize("name", LOGISTIC)
def test_glmer(name: str) -> None:
    frame, fact = accuracies(LOGISTIC[name]), FACTS[name]
    assert frame["correct"].sum() == fact["correct"]
    fit = fit_of(frame)
    assert fit.newton_decrement < 1e-10
    assert fit.singular == fact["singular"]
    assert fit.log_likelihood == pytest.approx(fact["log_likelihood"], abs=1e-5)
    assert list(fit.estimates.index) == fact["terms"]
    np.testing.assert_allclose(fit.estimates, fact["estimate"], atol=1e-4)
    np.testing.assert_allclose(fit.standard_errors, fact["std_error"], rtol=1e-3)
    np.testing.assert_allclose(fit.table()["z"], fact["z"], atol=1e-2)
    np.testing.assert_allclose(fit.table()["p"], fact["p"], atol=1e-3)
    assert fit.sd == pytest.approx(fact["sd"], abs=1e-4)
    np.testing.assert_allclose(fit.random_effects, fact["random_effects"], atol=1e-3)


def test_log_likelihood_is_laplaces_approximation() -> None:
    frame = accuracies(LOGISTIC["few_pairs"])
    terms, fit = all_interactions(frame[TERMS]), fit_of(frame)
    fixed = fit.estimates["(Intercept)"] + terms.to_numpy() @ fit.estimates[list(terms)]
    total = 0.0
    for rows in frame.groupby("phenomenon").indices.values():

        def minus_log(v: float, rows: np.ndarray = rows) -> float:
            p = 1 / (1 + np.exp(-(fixed[rows] + fit.sd * v)))
            counts = frame.iloc[rows]
            return v**2 / 2 - binom(counts["trials"], p).logpmf(counts["correct"]).sum()

        mode = minimize_scalar(minus_log).x
        bend = (minus_log(mode + 1e-3) - 2 * minus_log(mode) + minus_log(mode - 1e-3)) / 1e-6
        total += -minus_log(mode) - np.log(bend) / 2
    assert fit.log_likelihood == pytest.approx(total, abs=1e-4)


def few_pairs() -> Cells:
    frame = accuracies(LOGISTIC["few_pairs"])
    x = np.column_stack([np.ones(len(frame)), all_interactions(frame[TERMS])])
    return cells_in_groups(
        frame["correct"].to_numpy(float), frame["trials"].to_numpy(float), x,
        frame["phenomenon"].to_numpy(), 12,
    )  # fmt: skip


def test_modes_are_found_from_afar() -> None:
    cells, parameters = few_pairs(), np.append([[0.8], [4.0]], 0.3 * Numbers(3).normal(2, 8), 1)
    expected = deviance(cells, parameters, np.zeros(12))
    for start in (-40.0, 40.0):
        found = deviance(cells, parameters, np.full(12, start))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-9)


def test_gradient_is_that_of_the_deviance() -> None:
    cells = few_pairs()
    parameters = np.append(0.8, 0.3 * Numbers(3).normal(8))
    _, gradient, _ = deviance(cells, parameters[None], np.zeros(12))
    moved = 1e-5 * np.eye(9)
    values, _, _ = deviance(
        cells, np.vstack([parameters + moved, parameters - moved]), np.zeros(12)
    )
    np.testing.assert_allclose(gradient[0], (values[:9] - values[9:]) / 2e-5, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("unit", [1000, 1e-10])
def test_units_of_the_terms_do_not_matter(unit: float) -> None:
    frame = accuracies(LOGISTIC["suites"])
    before = fit_of(frame)
    after = fit_of(frame.assign(log_length=unit * frame["log_length"]))
    assert after.log_likelihood == pytest.approx(before.log_likelihood, abs=1e-7)
    assert after.table()["z"].to_numpy() == pytest.approx(before.table()["z"], rel=1e-5)
    slope = before.estimates["log_length"] / unit
    assert after.estimates["log_length"] == pytest.approx(slope, rel=1e-5)


def test_optima_curve_down_nowhere(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    optimum = laplace_optimum(few_pairs())._replace(newton_decrement=0.5e-7)
    curved, saddle = np.diag([0.5, *[2.0] * 8]), np.diag([-0.5, *[2.0] * 8])

    def fit(**changes: object) -> MixedLogisticFit:
        monkeypatch.setattr(
            "lingprob.stats.logistic_mixed.laplace_optimum",
            lambda cells: optimum._replace(**changes),
        )
        return fit_of(accuracies(LOGISTIC["few_pairs"]))

    assert fit(hessian=curved).newton_decrement == 0.5e-7
    for changes in ({"hessian": saddle}, {"hessian": curved, "newton_decrement": 2e-7}):
        with pytest.raises(LingprobError, match="no maximum at finite values"):
            fit(**changes)


def test_interactions_and_aggregation_by_hand() -> None:
    frame = pd.DataFrame({"a": [1, 1, -1, 1], "b": [2, 2, 2, -1], "c": [1, 1, 1, 3]})
    terms = all_interactions(frame)
    assert list(terms) == ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]
    assert terms["a:b:c"].tolist() == [2, 2, -2, -3]
    frame.index = [5, 6, 7, 8]
    cells = aggregate([1, 0, 1, 1], frame, ["x", "x", "x", None])
    expected = pd.DataFrame({"a": [-1, 1, 1], "b": [2, 2, -1], "c": [1, 1, 3]})
    pd.testing.assert_frame_equal(cells.terms, expected)
    assert cells.successes.tolist() == [1, 1, 1]
    assert cells.trials.tolist() == [1, 2, 1]
    assert cells.group.tolist()[:2] == ["x", "x"]
    assert cells.group.isna().tolist() == [False, False, True]
    cells = aggregate([1, 0, 2, 3], frame, ["x", "x", "x", "y"], trials=[4, 5, 6, 7])
    assert (cells.successes.tolist(), cells.trials.tolist()) == ([2, 1, 3], [6, 9, 7])


def observations(items: int, item_sd: float, slope_sd: float) -> pd.DataFrame:
    """One row an item and prefix: six phenomena, four conditions, items that differ."""
    numbers = Numbers(21)
    frame = pd.MultiIndex.from_product(
        [range(6), range(items), (-1.0, 1.0), (-1.0, 1.0)],
        names=["phenomenon", "item", "matched", "acceptable"],
    ).to_frame(index=False)
    frame["item"] += items * frame["phenomenon"]
    logit = 0.5 + 0.7 * numbers.normal(6)[frame["phenomenon"]]
    logit += item_sd * numbers.normal(6 * items)[frame["item"]]
    logit += slope_sd * numbers.normal(6 * items)[frame["item"]] * frame["acceptable"]
    frame["correct"] = (numbers.uniform(len(frame)) < 1 / (1 + np.exp(-logit))).astype(int)
    return frame


def by_item(frame: pd.DataFrame) -> tuple[MixedLogisticFit, tuple]:
    terms = all_interactions(frame[["matched", "acceptable"]])
    cells = aggregate(frame["correct"], terms, frame["phenomenon"])
    fit = fit_mixed_logistic(cells.successes, cells.trials, cells.terms, cells.group)
    return fit, (frame["correct"], terms, frame["phenomenon"], frame["item"])


def test_errors_by_item_agree_with_refits() -> None:
    frame = observations(40, 0.3, 1.8)
    fit, arguments = by_item(frame)
    robust = item_standard_errors(fit, *arguments)
    generator, rows = np.random.default_rng(0), frame.groupby("item").indices
    refits = []
    for _ in range(120):
        drawn = np.concatenate(
            [generator.choice(40, 40) + 40 * phenomenon for phenomenon in range(6)]
        )
        again, _ = by_item(frame.iloc[np.concatenate([rows[item] for item in drawn])])
        refits.append(again.estimates)
    np.testing.assert_allclose(pd.DataFrame(refits).std()[robust.index], robust, rtol=0.2)
    # Items differ in the effect of acceptability, which trials taken one by one understate.
    assert robust["acceptable"] > 1.1 * fit.standard_errors["acceptable"]


def test_errors_of_single_trials_are_the_models() -> None:
    frame = observations(300, 0.0, 0.0)
    frame["item"] = np.arange(len(frame))
    fit, arguments = by_item(frame)
    robust = item_standard_errors(fit, *arguments)
    # The intercept's own error is that of new phenomena; by item they are given.
    slopes = robust.index[1:]
    np.testing.assert_allclose(robust[slopes], fit.standard_errors[slopes], rtol=0.05)


def test_errors_by_item_with_written_out_groups() -> None:
    """Groups differ in the items and trials that they have, and their columns in the terms."""
    frame = observations(8, 0.9, 1.0)
    frame["item"] = frame["item"].where(frame["phenomenon"] > 0, frame["item"] % 2)
    frame = frame[frame.index % 7 != frame["item"] % 5].reset_index(drop=True)
    fit, (correct, terms, group, item) = by_item(frame)
    assert not fit.singular
    groups = sorted(set(group))
    fixed = np.column_stack([np.ones(len(terms)), terms])
    columns = np.column_stack([fixed, *(np.asarray(group == name, float) for name in groups)])
    effects = [*fit.estimates, *fit.random_effects.reindex(groups)]
    p = 1 / (1 + np.exp(-columns @ effects))
    ridge = [0.0] * fixed.shape[1] + [fit.sd**-2] * len(groups)
    bread = np.linalg.inv(columns.T @ np.diag(p * (1 - p)) @ columns + np.diag(ridge))
    meat = np.zeros_like(bread)
    for name in groups:
        items = sorted(set(item[group == name]))
        scores = [
            (columns * (np.asarray(correct) - p)[:, None])[item == one].sum(0) for one in items
        ]
        centred = np.array(scores) - np.mean(scores, axis=0)
        meat += len(items) / (len(items) - 1) * centred.T @ centred
    expected = np.sqrt(np.diag(bread @ meat @ bread)[: fixed.shape[1]])
    np.testing.assert_allclose(item_standard_errors(fit, correct, terms, group, item), expected)


def changed(**columns: object) -> pd.DataFrame:
    return accuracies(LOGISTIC["few_pairs"]).assign(**columns)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (changed(correct=np.nan), "successes, row 0: nan is not a count .288 such rows"),
        (changed(correct=np.inf), "successes, row 0: inf .*a count"),
        (changed(correct=-1), "successes, row 0: -1 is not a count .288 such rows"),
        (changed(correct=4), "successes, row 0: 4 .* at most the trials"),
        (changed(trials=3.5), "trials, row 0: 3.5"),
        (changed(matched=np.inf), "matched, row 0: inf"),
        (changed(matched=1.0), "matched is constant, or determined by .Intercept., log_length"),
        (changed(log_length=1.0), "log_length is constant, or determined by .Intercept., in"),
        (changed(correct=0), "successes only or failures only"),
        # A term that varies only where nothing was tried.
        (changed().pipe(lambda frame: frame.assign(
            **{name: frame[name].where(frame["matched"] > 0, 0) for name in ("correct", "trials")}
        )), "matched is constant"),
        (changed(phenomenon="agreement"), "there is one group, agreement"),
        (changed(phenomenon=[None] + ["a", "b"] * 143 + ["a"]), "row 0: the group is missing"),
        (changed(correct=3), "successes only or failures only"),
        (changed().pipe(lambda frame: frame.assign(correct=3 * (frame["matched"] > 0))),
         "separated by .*matched"),
        (changed().pipe(lambda frame: frame.assign(correct=3 * (frame["phenomenon"] > 5))),
         "every group has successes only or failures only"),
    ],
)  # fmt: skip
def test_bad_input(frame: pd.DataFrame, said: str) -> None:
    with pytest.raises(LingprobError, match=said):
        fit_of(frame)


def test_two_groups_are_enough() -> None:
    fit = fit_of(changed(phenomenon=["a", "b"] * 144))
    assert np.isfinite(fit.estimates).all()
    assert list(fit.random_effects.index) == ["a", "b"]


def test_separation_within_groups_has_no_maximum() -> None:
    # Given its group's level, each observation follows from the terms without chance.
    numbers = Numbers(3)
    x, group = numbers.normal(30, 2), np.arange(30) % 3
    correct = 3 * x.sum(axis=1) + 4 * numbers.normal(3)[group] > 0
    with pytest.raises(LingprobError, match="no maximum at finite values"):
        fit_mixed_logistic(correct, np.ones(30), pd.DataFrame(x, columns=["a", "b"]), group)


def test_bad_items() -> None:
    frame = observations(5, 1.0, 0.5)
    fit, (correct, terms, group, item) = by_item(frame)
    single = item.where(group != 3, 15)
    with pytest.raises(LingprobError, match="3 has a single item"):
        item_standard_errors(fit, correct, terms, group, single)
    with pytest.raises(LingprobError, match="item 7 is in two groups"):
        item_standard_errors(fit, correct, terms, group, item.where(item != 12, 7))
    for unnamed in (item.where(item != 12), item[1:]):
        with pytest.raises(LingprobError, match="Give each row one"):
            item_standard_errors(fit, correct, terms, group, unnamed)
    with pytest.raises(LingprobError, match="have 120, 120, 119 and 120 rows"):
        fit_mixed_logistic(correct, np.ones(120), terms[1:], group)
    with pytest.raises(LingprobError, match="at least one"):
        fit_mixed_logistic([], [], terms[:0], [])


def test_separation_of_single_trials():
    """Cells with both outcomes at the same terms pin a combination, however they are laid out."""
    terms = pd.DataFrame({"a": [0.0, 0.0, 1.0, 1.0] * 3})
    group = ["x", "x", "x", "x", "y", "y", "y", "y", "z", "z", "z", "z"]
    one = np.ones(12)
    both = [0, 1, 0, 1] * 3
    assert checked_cells(both, one, terms, group)[1] == ["(Intercept)", "a"]
    # One success of six.
    checked_cells([0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0], one, terms, group)
    for separated in ([0, 1, 1, 1], [0, 0, 0, 1]):
        with pytest.raises(LingprobError, match="separated by"):
            checked_cells(separated * 3, one, terms, group)
    # No line is low at 0 and 2, where all fail, and high at 1.
    middle = pd.DataFrame({"a": [0.0, 1, 2] * 2})
    checked_cells([0, 1, 0] * 2, one[:6], middle, ["x"] * 3 + ["y"] * 3)
