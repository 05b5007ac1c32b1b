"""The logistic model with a random intercept: glmer's values, dense checks, errors by group."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

import mixed_data
from lingprob.errors import LingprobError
from lingprob.stats.logistic_mixed import (
    Cells,
    MixedLogisticFit,
    aggregate,
    all_interactions,
    checked_cells,
    deviance,
    fit_mixed_logistic,
    group_standard_errors,
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


def few_pairs() -> Cells:
    frame = accuracies(LOGISTIC["few_pairs"])
    terms = all_interactions(frame[TERMS])
    return checked_cells(frame["correct"], frame["trials"], terms, frame["phenomenon"])[0]


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


def test_optima_curve_down_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_missing_answer_is_no_failure() -> None:
    with pytest.raises(
        LingprobError, match=r"correct, row 1: nan .such rows: 1.; drop such trials"
    ):
        aggregate([1, np.nan, 0], pd.DataFrame({"a": [1, 1, 1]}), ["x", "x", "x"])


def test_interactions_and_aggregation_by_hand() -> None:
    frame = pd.DataFrame({"a": [1, 1, -1, 1], "b": [2, 2, 2, -1], "c": [1, 1, 1, 3]})
    terms = all_interactions(frame)
    assert list(terms) == ["a", "b", "c", "a:b", "a:c", "b:c", "a:b:c"]
    assert terms["a:b:c"].tolist() == [2, 2, -2, -3]
    frame.index = [5, 6, 7, 8]
    successes, trials, terms, group = aggregate([1, 0, 1, 1], frame, ["x", "x", "x", None])
    expected = pd.DataFrame({"a": [-1, 1, 1], "b": [2, 2, -1], "c": [1, 1, 3]})
    pd.testing.assert_frame_equal(terms, expected)
    assert (successes.tolist(), trials.tolist()) == ([1, 1, 1], [1, 2, 1])
    assert group.tolist()[:2] == ["x", "x"]
    assert group.isna().tolist() == [False, False, True]


def observations(groups: int, slope_sd: float) -> pd.DataFrame:
    """One row per item and condition; groups differ in size, level and slope, and in no order."""
    numbers = Numbers(21)
    level, slope = numbers.normal(groups), numbers.normal(groups)
    sizes = [8 + 5 * (group % 4) for group in range(groups)]
    frame = pd.DataFrame({"group": np.repeat(np.arange(groups) * 7, sizes)})
    frame = frame.merge(pd.DataFrame({"acceptable": [-1.0, 1.0, 1.0]}), how="cross")
    of_row = frame["group"] // 7
    frame["length"] = numbers.normal(len(frame))
    logit = 0.5 + level[of_row] + (0.4 + slope_sd * slope[of_row]) * frame["acceptable"]
    frame["correct"] = (numbers.uniform(len(frame)) < 1 / (1 + np.exp(-logit))).astype(int)
    return frame.sample(frac=1, random_state=0)


def by_group(frame: pd.DataFrame) -> MixedLogisticFit:
    terms = frame[["acceptable", "length"]]
    return fit_mixed_logistic(*aggregate(frame["correct"], terms, frame["group"]))


@pytest.mark.parametrize(("groups", "slope_sd"), [(9, 0.9), (5, 0.0)])
def test_errors_by_group_are_those_of_refits(groups: int, slope_sd: float) -> None:
    frame = observations(groups, slope_sd)
    fit = by_group(frame)
    refits = pd.DataFrame(
        [by_group(frame[frame["group"] != name]).estimates for name in set(frame["group"])]
    )
    spread = ((refits - refits.mean()) ** 2).sum()
    expected = np.sqrt((groups - 1) / groups * spread)
    found = group_standard_errors(fit)
    # The intercept's error moves with the variance between groups, which refits estimate again.
    np.testing.assert_allclose(found[1:], expected[found.index][1:], rtol=0.15)
    np.testing.assert_allclose(found.iloc[0], expected.iloc[0], rtol=0.3)
    # Slopes that differ between groups are no noise of single trials.
    assert (found["acceptable"] > 1.5 * fit.standard_errors["acceptable"]) == (slope_sd > 0)


def test_group_errors_are_about_refits_mean() -> None:
    """Leaving out a group with most of the trials moves the mean away from the estimates."""
    frame = pd.DataFrame([(a, b) for a in (-1.0, 1.0) for b in (-1.0, 1.0)], columns=["a", "b"])
    frame = frame.merge(pd.DataFrame({"group": range(3), "trials": [20, 20, 400]}), how="cross")
    frame["correct"] = (frame["trials"] * expit(0.3 + 0.2 * frame["a"] + 0.1 * frame["b"])).round()

    def fit(of: pd.DataFrame) -> MixedLogisticFit:
        return fit_mixed_logistic(of["correct"], of["trials"], of[["a", "b"]], of["group"])

    refits = pd.DataFrame([fit(frame[frame["group"] != name]).estimates for name in range(3)])
    expected = np.sqrt(2 / 3 * ((refits - refits.mean()) ** 2).sum())
    found = group_standard_errors(fit(frame))
    np.testing.assert_allclose(found, expected[found.index], rtol=0.01)


def test_indispensable_groups_have_no_errors() -> None:
    """A term that varies in one group alone."""
    frame = observations(3, 0.5)
    frame["length"] = frame["length"].where(frame["group"] == 7, 0.0)
    assert group_standard_errors(by_group(frame)).isna().all()


def changed(**columns: object) -> pd.DataFrame:
    return accuracies(LOGISTIC["few_pairs"]).assign(**columns)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (changed(correct=np.nan), "successes, row 0: nan .such rows: 288.; it must be a count"),
        (changed(correct=np.inf), "successes, row 0: inf .*a count"),
        (changed(correct=-1), "successes, row 0: -1 .such rows: 288.; it must be a count"),
        (changed(correct=4), "successes, row 0: 4 .* at most the trials"),
        (changed(trials=3.5), "trials, row 0: 3.5"),
        (changed(matched=np.inf), "matched, row 0: inf"),
        (changed(matched=1.0), "matched is constant, or determined by .Intercept., log_length"),
        (changed(log_length=1.0), "log_length is constant, or determined by .Intercept.\\. Leave"),
        (changed(correct=0), "successes only or failures only"),
        # A term that varies only in rows without trials.
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


def test_separation_within_groups_has_no_maximum() -> None:
    # Given its group's level, each observation follows from the terms without chance.
    numbers = Numbers(3)
    x, group = numbers.normal(30, 2), np.arange(30) % 3
    correct = 3 * x.sum(axis=1) + 4 * numbers.normal(3)[group] > 0
    with pytest.raises(LingprobError, match="no maximum at finite values"):
        fit_mixed_logistic(correct, np.ones(30), pd.DataFrame(x, columns=["a", "b"]), group)


def test_rows_that_differ_in_number() -> None:
    frame = observations(3, 0.5)
    terms, ones = frame[["acceptable", "length"]], np.ones(len(frame))
    with pytest.raises(LingprobError, match="give one row per cell"):
        fit_mixed_logistic(frame["correct"], ones, terms[1:], frame["group"])
    with pytest.raises(LingprobError, match="at least one"):
        fit_mixed_logistic([], [], terms[:0], [])


def test_separation_of_single_trials():
    """Cells with both outcomes at the same terms pin a combination, however they are laid out."""
    terms = pd.DataFrame({"a": [0.0, 0.0, 1.0, 1.0] * 3})
    group = ["x", "x", "x", "x", "y", "y", "y", "y", "z", "z", "z", "z"]
    one = np.ones(12)
    both = [0, 1, 0, 1] * 3
    assert checked_cells(both, one, terms, group)[1].tolist() == ["x", "y", "z"]
    # One success of six.
    checked_cells([0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0], one, terms, group)
    for separated in ([0, 1, 1, 1], [0, 0, 0, 1]):
        with pytest.raises(LingprobError, match="separated by"):
            checked_cells(separated * 3, one, terms, group)
    # No line is low at 0 and 2 and high at 1.
    middle = pd.DataFrame({"a": [0.0, 1, 2] * 2})
    checked_cells([0, 1, 0] * 2, one[:6], middle, ["x"] * 3 + ["y"] * 3)
