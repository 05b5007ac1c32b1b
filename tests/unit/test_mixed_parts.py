"""What mixed models are made of: columns and their scales, moments, checks at their limits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.basis import (
    basis,
    check_determined,
    check_residual,
    response_scale,
)
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from lingprob.stats.linear_mixed.formula import INTERCEPT, parse_formula
from lingprob.stats.linear_mixed.moments import (
    MixedModelData,
    group_codes,
    group_moments,
    shared_names,
)


def times(rows: int = 80, seed: int = 5) -> pd.DataFrame:
    """Return y of readers s, who differ in intercepts and slopes of a, whose mean is 2."""
    numbers = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": numbers.normal(2, 3, rows), "b": numbers.normal(-1, 2, rows)})
    frame["s"] = np.arange(rows) % 7
    frame["y"] = 30 + 2 * frame["a"] - frame["b"] + 4 * numbers.normal(size=7)[frame["s"]]
    frame["y"] += numbers.normal(size=7)[frame["s"]] * frame["a"]
    return frame.assign(y=frame["y"] + 3 * numbers.normal(size=rows))


def columns(frame: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
    ones = np.ones(len(frame))
    return np.column_stack([ones if name == INTERCEPT else frame[name] for name in names])


@pytest.mark.parametrize("method", ["ML", "REML"])
@pytest.mark.parametrize(
    "formula",
    [
        "y ~ a + b + (1 + a | s)",
        "y ~ 0 + a + b + (1 + a | s)",
        "y ~ b + a + (0 + a | s)",
    ],
)
def test_a_fit_is_generalised_least_squares_given_its_variances(formula, method):
    frame = times()
    data = MixedModelData.from_formulas(frame, [formula])
    (fit,) = fit_mixed_models(data, [formula], method, starts=1)
    x, z = columns(frame, fit.formula.fixed), columns(frame, fit.formula.random)
    y, reader = frame["y"].to_numpy(), frame["s"].to_numpy()
    covariance = fit.covariance.to_numpy()
    v = fit.sigma**2 * np.eye(len(frame))
    v += np.equal.outer(reader, reader) * (z @ covariance @ z.T)
    inverse = np.linalg.inv(v)
    information = x.T @ inverse @ x
    beta = np.linalg.solve(information, x.T @ inverse @ y)
    np.testing.assert_allclose(fit.fixed_effects, beta, rtol=1e-6)
    np.testing.assert_allclose(fit.fixed_covariance, np.linalg.inv(information), rtol=1e-6)
    weighted = inverse @ (y - x @ beta)
    freedom = len(y) - (x.shape[1] if method == "REML" else 0)
    assert (y - x @ beta) @ weighted == pytest.approx(freedom, rel=1e-6)
    log_determinants = np.linalg.slogdet(v)[1]
    if method == "REML":
        log_determinants += np.linalg.slogdet(information)[1]
    expected = -(log_determinants + freedom * (np.log(2 * np.pi) + 1)) / 2
    assert fit.log_likelihood == pytest.approx(expected, abs=1e-6)
    assert fit.converged
    for level, rows in frame.groupby("s").indices.items():
        expected = covariance @ z[rows].T @ weighted[rows]
        np.testing.assert_allclose(fit.random_effects.loc[level], expected, rtol=1e-5, atol=1e-6)
    errors = np.sqrt(np.diag(fit.fixed_covariance))
    np.testing.assert_allclose(fit.standard_errors, errors)


def test_three_starts_unless_another_number_is_given():
    frame, formula = times(), "y ~ a + b + (1 | s)"
    data = MixedModelData.from_formulas(frame, [formula])
    for given, starts in (({}, 3), ({"starts": 1}, 1), ({"starts": 2}, 2)):
        (fit,) = fit_mixed_models(data, [formula], **given)
        assert len(fit.start_log_likelihoods) == starts
    with pytest.raises(LingprobError, match="starts=0"):
        fit_mixed_models(data, [formula], starts=0)


def test_scaled_columns_are_of_size_one():
    frame = times()
    data = MixedModelData.from_formulas(frame, ["y ~ a + b + (1 | s)"])
    shifted = columns(frame, (INTERCEPT, "a", "b", "y")) - data.shift
    for names in ((INTERCEPT, "b", "a"), ("b", "a")):
        own, raw = basis(data, names), columns(frame, names)
        np.testing.assert_allclose(shifted @ own.columns, raw)
        scaled = shifted @ own.scaled
        np.testing.assert_allclose(scaled, raw @ own.to_own, atol=1e-12)
        if INTERCEPT in names:
            np.testing.assert_allclose(scaled.mean(axis=0), [1, 0, 0], atol=1e-12)
            np.testing.assert_allclose(scaled[:, 1:].std(axis=0, ddof=1), 1)
        else:
            np.testing.assert_allclose((scaled**2).mean(axis=0), 1)


def test_columns_that_do_not_vary_keep_their_scale():
    frame = times().assign(three=3.0, zero=0.0)
    given = {"response": "y", "predictors": ["three", "zero"], "group": "s"}
    data = MixedModelData.from_frame(frame, **given)
    assert basis(data, (INTERCEPT, "three")).to_own.tolist() == [[1, -3], [0, 1]]
    assert basis(data, ("zero",)).to_own.tolist() == [[1]]


def test_a_response_is_centred_where_there_is_an_intercept():
    frame = pd.DataFrame({"y": [1.0, 2.0, 3.0], "a": [2.0, 0.0, 1.0], "s": [0, 1, 0]})
    data = MixedModelData.from_frame(frame, response="y", predictors=["a"], group="s")
    assert response_scale(data, parse_formula("y ~ a + (1 | s)")) == (2.0, 1.0)
    assert response_scale(data, parse_formula("y ~ 0 + a + (1 | s)")) == (0.0, 1.0)


def check(frame: pd.DataFrame, formula: str) -> None:
    parsed, data = parse_formula(formula), MixedModelData.from_formulas(frame, [formula])
    check_determined(data, parsed, basis(data, parsed.fixed), basis(data, parsed.random))


def few(rows: int, groups: int) -> pd.DataFrame:
    numbers = np.random.default_rng(rows)
    frame = pd.DataFrame(numbers.normal(size=(rows, 5)), columns=list("abcdy"))
    return frame.assign(s=np.arange(rows) % groups)


def apart(size: float) -> np.ndarray:
    """Values (60,) whose standard deviation is this, apart from a mean of a million."""
    values = np.random.default_rng(1).normal(size=60)
    return 1e6 + size * (values - values.mean()) / values.std(ddof=1)


def almost(share: float) -> pd.DataFrame:
    """A predictor b of which a predicts all but a share of the variance."""
    a, left = np.random.default_rng(2).normal(size=(2, 60))
    left -= np.polyval(np.polyfit(a, left, 1), a)
    b = np.sqrt(1 - share) * (a - a.mean()) / a.std() + np.sqrt(share) * left / left.std()
    return few(60, 4).assign(a=a, b=b)


@pytest.mark.parametrize(
    ("frame", "formula", "said"),
    [
        (few(5, 2), "y ~ 1 + (1 | s)", None),
        (few(7, 3), "y ~ 1 + (1 + a | s)", None),
        (few(6, 3), "y ~ 1 + (1 + a | s)", "6 rows cannot tell 3 groups with 2 random effects"),
        (few(5, 2), "y ~ a + b + c + d + (1 | s)", "5 rows cannot tell 2 groups"),
        (few(9, 2).assign(b=2.0), "y ~ a + b + (1 | s)", "b is 2 in every row"),
        (few(60, 4).assign(b=apart(1e-7)), "y ~ a + b + (1 | s)", r"b is 1e\+06 in every row"),
        (few(60, 4).assign(b=apart(1e-5)), "y ~ a + b + (1 | s)", None),
        (few(9, 2).assign(b=lambda rows: -2 * rows["a"]), "y ~ 0 + a + b + (1 | s)",
         "b is determined by a. Leave one out"),
        (almost(4e-10), "y ~ a + b + (1 | s)", None),
        (almost(4e-11), "y ~ a + b + (1 | s)", "b is determined by a"),
    ],
)  # fmt: skip
def test_data_determine_a_model_up_to_a_limit(frame, formula, said):
    if said is None:
        check(frame, formula)
    else:
        with pytest.raises(LingprobError, match=said):
            check(frame, formula)


GROUP = np.arange(80) % 8


def check_left(x: np.ndarray, z: np.ndarray, y: np.ndarray) -> None:
    """Check for a residual of y on x and, in each of eight groups, z."""
    all_columns, right = np.column_stack([z, x, y]), np.column_stack([x, y])
    with_z = np.array([z[own].T @ all_columns[own] for own in np.arange(8)[:, None] == GROUP])
    check_residual("the model", with_z, right.T @ right, 80)


def test_a_response_without_residual_is_told_from_one_with_little():
    numbers, ones = np.random.default_rng(3), np.ones((80, 1))
    a, b, noise = numbers.normal(size=(3, 80))
    # Of both, sum and difference are told apart by neither alone.
    b += a
    x = np.column_stack([ones, a, b])
    within = noise - pd.Series(noise).groupby(GROUP).transform("mean").to_numpy()
    within /= np.sqrt((within**2).mean())
    effect = np.repeat(np.resize([-1.0, 1.0], 8)[None], 10, axis=0).ravel()
    for x_of, z_of, y in (
        (x, ones, effect + (a + b) / 3),
        (x, ones, effect + (a - b) / 3),
        (ones, np.column_stack([ones, a]), effect * (1 + a)),
    ):
        with pytest.raises(LingprobError, match=r"the model.* determine the"):
            check_left(x_of, z_of, y)
        check_left(x_of, z_of, y + noise)
        check_left(x_of, z_of, y + 1e-5 * noise)
    with pytest.raises(LingprobError, match="determine the response exactly"):
        check_left(ones, ones, effect + np.sqrt(3e-13) * within)
    check_left(ones, ones, effect + np.sqrt(1e-11) * within)
    # A group may have no variance of its own, or none at all.
    for z in (a * (GROUP > 0), np.where(GROUP > 0, a, 1.0)):
        check_left(ones, np.column_stack([ones, z]), noise)
        check_left(ones, z[:, None], noise)


def test_deviations_are_about_the_mean_wherever_the_shift_is():
    frame, formula = times(), "y ~ a + b + (1 | s)"
    whole, part = (MixedModelData.from_formulas(rows, [formula]) for rows in (frame, frame[:20]))
    expected = frame[["a", "b"]][:20].std() / frame[["a", "b"]].std()
    found = part.standardised(like=whole).deviations()
    np.testing.assert_allclose(found, [0, *expected, frame["y"][:20].std()])
    # Columns as they are, too, with nothing taken off.
    raw = columns(frame, (INTERCEPT, "a", "b", "y"))
    moments = group_moments(list(raw.T), frame["s"].to_numpy(), 7)
    found = MixedModelData("y", ("a", "b"), np.zeros(4), "s", pd.Index(range(7)), moments)
    np.testing.assert_allclose(found.deviations(), raw.std(axis=0, ddof=1), atol=1e-9)
    two = pd.DataFrame({"y": [0.001, 0.002], "s": 0})
    for rows, sd in ((two, np.sqrt(0.5) / 1000), (two[:1], 0)):
        data = MixedModelData.from_formulas(rows, ["y ~ 1 + (1 | s)"])
        np.testing.assert_allclose(data.deviations(), [0, sd])


def test_predictors_that_vary_by_rounding_alone_are_not_standardised():
    formula = "y ~ a + b + (1 | s)"
    frame = few(60, 4)
    data = MixedModelData.from_formulas(frame.assign(b=apart(1e-3)), [formula])
    np.testing.assert_allclose(data.standardised().deviations()[1:-1], 1, rtol=1e-5)
    data = MixedModelData.from_formulas(frame.assign(b=apart(1e-5)), [formula])
    with pytest.raises(LingprobError, match="b is 1e\\+06 in every row"):
        data.standardised()


def test_more_groups_than_sixteen_bits_can_number():
    groups = 2**16 + 1
    values = np.arange(groups, 0.0, -1)
    moments = group_moments([values], np.arange(groups)[::-1].copy(), groups, 1.0)
    np.testing.assert_array_equal(moments.ravel(), np.arange(groups) ** 2.0)


def test_levels_are_the_values_that_occur():
    codes, levels = group_codes(pd.DataFrame({"s": ["b", "a", "b"]}), "s")
    assert (codes.tolist(), levels.tolist(), levels.name) == ([1, 0, 1], ["a", "b"], "s")


def test_what_formulas_need_together():
    formulas = ["y ~ a + (1 | s)", "y ~ b + a + (1 + c | s)"]
    assert shared_names(formulas) == ("y", ["a", "b", "c"], ["s"])
    with pytest.raises(LingprobError, match=r"share one response; got \[\]"):
        shared_names([])
