"""Linear mixed models: values by hand, dense densities, their data, the reduction, bad input."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

from lingprob.errors import LingprobError
from lingprob.stats import linear_mixed
from lingprob.stats.linear_mixed.fit import (
    MixedFit,
    fit_mixed_models,
    reduce_random_effects,
    settled,
)
from lingprob.stats.linear_mixed.formula import INTERCEPT, parse_formula, write_formula
from lingprob.stats.linear_mixed.moments import (
    MixedModelData,
    basis,
    check_determined,
    check_residual,
    group_moments,
    response_scale,
)
from mixed_data import EYE_TRACKING, SELF_PACED, read, simulated

BALANCED = pd.DataFrame(
    {"y": [1.0, 3.0, 5.0, 7.0, 12.0, 14.0], "subject_id": ["a", "a", "b", "b", "c", "c"]}
)


def fit_one(frame: pd.DataFrame, formula: str, starts: int = 3) -> MixedFit:
    return fit_mixed_models(read(frame, [formula]), [formula], starts=starts)[0]


@pytest.fixture(scope="module")
def partitions() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Data to fit, 8 subjects, and held-out data of these and two more, with means off zero."""
    made = [simulated(rows, subjects, seed, (30.0, 5.0, 0.0, 4.0, 0.0))
            for rows, subjects, seed in ((600, 8, 3), (300, 10, 4))]  # fmt: skip
    for frame in made:
        frame["length"] = 3 * frame["length"] + 50
    made[1]["surprisal"] = 1.3 * made[1]["surprisal"] + 0.4
    return made[0], made[1]


def times(rows: int = 80, seed: int = 5) -> pd.DataFrame:
    """Return y of readers s, who differ in intercepts and slopes of a; a's mean is 2."""
    numbers = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": numbers.normal(2, 3, rows), "b": numbers.normal(-1, 2, rows)})
    frame["s"] = np.arange(rows) % 7
    frame["y"] = 30 + 2 * frame["a"] - frame["b"] + 4 * numbers.normal(size=7)[frame["s"]]
    frame["y"] += numbers.normal(size=7)[frame["s"]] * frame["a"] + 2 * numbers.normal(size=rows)
    return frame


def columns(frame: pd.DataFrame, names: tuple[str, ...]) -> np.ndarray:
    ones = np.ones(len(frame))
    return np.column_stack([ones if name == INTERCEPT else frame[name] for name in names])


def test_the_example_of_the_module_runs() -> None:
    code = [line[4:] for line in str(linear_mixed.__doc__).splitlines() if line.startswith("    ")]
    scope = {"fit_partition": broken(), "exploratory_partition": broken(length=3.0)}
    exec("\n".join(code), scope)
    assert scope["fit"].log_likelihood > scope["baseline"].log_likelihood


def test_a_balanced_one_way_layout_by_hand() -> None:
    # Means 2, 6, 13, grand mean 7; between sum of squares 2 * 62, within mean square 6 / 3 = 2.
    fit = fit_one(BALANCED, "y ~ 1 + (1 | subject_id)")
    assert fit.sigma**2 == pytest.approx(2, rel=1e-6)
    assert fit.covariance.iloc[0, 0] == pytest.approx((124 / 3 - 2) / 2, rel=1e-6)
    assert fit.fixed_effects["(Intercept)"] == pytest.approx(7)
    assert fit.standard_errors["(Intercept)"] == pytest.approx(np.sqrt(124 / 3 / 6), rel=1e-6)
    assert fit.converged
    assert not fit.singular
    for sd, singular in ((0.9e-4, True), (1e-4, False), (1.1e-4, False)):
        assert replace(fit, smallest_eigenvalue=sd**2).singular is singular


def test_groups_alike_give_a_singular_fit_that_is_ordinary_least_squares() -> None:
    frame = pd.DataFrame({"y": [1.0, 3.0, 3.0, 1.0, 2.0, 2.5], "subject_id": list("aabbcc")})
    fit = fit_one(frame, "y ~ 1 + (1 | subject_id)")
    assert fit.singular
    assert fit.converged
    expected = norm(frame["y"].mean(), frame["y"].std(ddof=0)).logpdf(frame["y"]).sum()
    assert fit.log_likelihood == pytest.approx(expected, abs=1e-9)


def test_log_likelihoods_are_those_of_dense_normal_distributions(
    partitions: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    formula = "rt_ms ~ surprisal + length + index + (1 + surprisal + length | subject_id)"
    fitted, held_out = partitions
    fit = fit_one(fitted, formula)
    assert fit.log_likelihood == pytest.approx(dense(fit, fitted).sum(), abs=1e-6)
    by_group = fit.held_out_log_likelihood(read(held_out, [formula]))
    np.testing.assert_allclose(by_group, dense(fit, held_out), atol=1e-6, rtol=0)
    assert by_group.index.tolist() == list(range(10))


def dense(fit: MixedFit, frame: pd.DataFrame) -> np.ndarray:
    """Return each subject's log-density under the whole covariance matrix of its rows."""
    z = columns(frame, fit.formula.random)
    expected = columns(frame, fit.formula.fixed) @ fit.fixed_effects.to_numpy()
    values = []
    for rows in frame.groupby("subject_id").indices.values():
        noise = fit.sigma**2 * np.eye(len(rows))
        covariance = z[rows] @ fit.covariance.to_numpy() @ z[rows].T + noise
        values.append(
            multivariate_normal(expected[rows], covariance).logpdf(frame["rt_ms"].iloc[rows])
        )
    return np.array(values)


@pytest.mark.parametrize(
    "formula",
    ["y ~ a + b + (1 + a | s)", "y ~ 0 + a + b + (1 + a | s)", "y ~ b + a + (0 + a | s)"],
)
def test_a_fit_is_generalised_least_squares_given_its_variances(formula: str) -> None:
    frame = times()
    fit = fit_one(frame, formula, starts=1)
    x, y = columns(frame, fit.formula.fixed), frame["y"].to_numpy()
    z, group = columns(frame, fit.formula.random), frame["s"].to_numpy()
    v = np.equal.outer(group, group) * (z @ fit.covariance.to_numpy() @ z.T)
    inverse = np.linalg.inv(v + fit.sigma**2 * np.eye(len(frame)))
    information = x.T @ inverse @ x
    beta = np.linalg.solve(information, x.T @ inverse @ y)
    np.testing.assert_allclose(fit.fixed_effects, beta, rtol=1e-6)
    np.testing.assert_allclose(fit.fixed_covariance, np.linalg.inv(information), rtol=1e-6)
    np.testing.assert_allclose(fit.standard_errors, np.sqrt(np.diag(fit.fixed_covariance)))
    assert (y - x @ beta) @ inverse @ (y - x @ beta) == pytest.approx(len(y), rel=1e-6)
    assert fit.converged


def test_models_of_one_batch_are_those_fitted_alone(
    partitions: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    formulas = [SELF_PACED, EYE_TRACKING, "rt_ms ~ 0 + length + (0 + length | subject_id)"]
    together = fit_mixed_models(read(partitions[0], formulas), formulas)
    for fit, formula in zip(together, formulas, strict=True):
        alone = fit_one(partitions[0], formula)
        assert fit.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)
        np.testing.assert_allclose(fit.fixed_effects, alone.fixed_effects, rtol=1e-6)


def test_three_starts_unless_another_number_is_given() -> None:
    data, formula = read(times(), ["y ~ a + b + (1 | s)"]), "y ~ a + b + (1 | s)"
    for given, starts in (({}, 3), ({"starts": 1}, 1), ({"starts": 2}, 2)):
        (fit,) = fit_mixed_models(data, [formula], **given)
        assert len(fit.start_log_likelihoods) == starts
    with pytest.raises(LingprobError, match="starts=0"):
        fit_mixed_models(data, [formula], starts=0)


def test_reduction_takes_out_the_least_predictive_slopes() -> None:
    # Only the intercept and the slope of surprisal vary between subjects.
    frame = simulated(4_000, 20, 9, (60.0, 0.0, 0.0, 0.0, 0.0))
    slopes = np.random.default_rng(5).normal(0, 12, 20)
    frame["rt_ms"] += slopes[frame["subject_id"]] * frame["surprisal"]
    baseline = "rt_ms ~ length + index + (1 + length + index | subject_id)"
    data = read(frame, [SELF_PACED, baseline])
    fits, removed = reduce_random_effects(data, [SELF_PACED, baseline], {})
    assert all(fit.converged and not fit.singular for fit in fits)
    assert all(map(settled, fits))
    assert not settled(replace(fits[0], converged=False))
    assert "surprisal" in fits[0].formula.random
    assert removed
    for name, cost in removed.items():
        assert cost > -1e-6
        assert all(name not in fit.formula.random for fit in fits)
    # By hand for the first slope: refit without each, keep the best.
    totals = {}
    for name in ("surprisal", "previous_surprisal", "length", "index"):
        formulas = [parse_formula(text).without_random(name) for text in (SELF_PACED, baseline)]
        totals[name] = sum(fit.log_likelihood for fit in fit_mixed_models(data, formulas))
    assert next(iter(removed)) == max(totals, key=totals.__getitem__)


def test_a_role_s_slope_goes_from_all_models() -> None:
    # Readers differ in their slopes of index, and in none of surprisal's: it is taken out.
    frame = simulated(600, 8, 10, (60.0, 0.0, 0.0, 0.0, 40.0))
    for rows in frame.groupby("subject_id").indices.values():
        x = np.column_stack([np.ones(len(rows)), frame.iloc[rows][["surprisal", "index"]]])
        slope = np.linalg.lstsq(x, frame["rt_ms"].iloc[rows])[0][1]
        frame.loc[frame.index[rows], "rt_ms"] -= slope * frame["surprisal"].iloc[rows]
    frame["other"] = 2 * frame["surprisal"] + 1
    formulas = [f"rt_ms ~ {name} + index + (1 + {name} + index | subject_id)"
                for name in ("surprisal", "other")]  # fmt: skip
    data = read(frame, formulas)
    fits, removed = reduce_random_effects(data, formulas, {"surprisal": "word", "other": "word"})
    assert [fit.formula.random for fit in fits] == [("(Intercept)", "index")] * 2
    # What it costs is the difference between all fits with and without.
    before = sum(fit.log_likelihood for fit in fit_mixed_models(data, formulas))
    after = sum(fit.log_likelihood for fit in fits)
    assert removed == {"word": pytest.approx(before - after, abs=1e-6)}


@pytest.mark.parametrize("other", [None, "rt_ms ~ length + (1 + length | subject_id)"])
def test_reduction_keeps_a_last_random_effect_that_is_no_intercept(other: str | None) -> None:
    frame = simulated(400, 8, 3, (0.0, 0.0, 0.0, 0.0, 0.0))
    formulas = ["rt_ms ~ length + (0 + length | subject_id)", *([other] if other else [])]
    frame["rt_ms"] = 300 + np.random.default_rng(3).normal(size=len(frame))
    for subject in range(8):  # no difference between subjects: no variance of slopes
        rows = frame["subject_id"] == subject
        frame.loc[rows, "rt_ms"] -= frame.loc[rows, "rt_ms"].mean()
        x = frame.loc[rows, "length"]
        frame.loc[rows, "rt_ms"] -= x * (x @ frame.loc[rows, "rt_ms"]) / (x @ x)
    with pytest.raises(LingprobError, match=r"\(0 \+ length \| .* has no random slope to spare"):
        reduce_random_effects(read(frame, formulas), formulas, {})


@pytest.mark.parametrize(
    ("formula", "fixed", "random"),
    [
        ("y ~ a + (1 | s)", (INTERCEPT, "a"), (INTERCEPT,)),
        ("y ~ 1 + a + b + a +(a|s)", (INTERCEPT, "a", "b"), (INTERCEPT, "a")),
        ("y ~ (1 | s)", (INTERCEPT,), (INTERCEPT,)),
        ("y ~ 0 + a + (0 + a | s)", ("a",), ("a",)),
        ("y ~ a + 0 + (b + 1 | s) ", ("a",), (INTERCEPT, "b")),
    ],
)
def test_formulas(formula: str, fixed: tuple[str, ...], random: tuple[str, ...]) -> None:
    parsed = parse_formula(formula)
    assert parsed[1:] == ("y", fixed, random, "s")
    written = write_formula("y", fixed, random, "s")
    assert written == parse_formula(written.text)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y ~ a", "not a formula of this kind"),
        ("y ~ a + (1 | s", "not a formula of this kind"),
        ("y ~ a + (1 || s)", "not a formula of this kind"),
        ("y ~ a + (1 | s) + (1 | w)", "not a formula of this kind"),
        ("y ~ log(a) + (1 | s)", "not a formula of this kind"),
        ("~ a + (1 | s)", "not a formula of this kind"),
        ("y ~ a - (1 | s)", "no '+' before the parenthesis"),
        ("y ~ a - b + (1 | s)", "'a - b' is no column"),
        ("y ~ a * b + (1 | s)", "'a * b' is no column"),
        ("y ~ a + + (1 | s)", "'' is no column"),
        ("y ~ a + (a:b | s)", "'a:b' is no column"),
        ("y ~ a + (1 | s:w)", "'s:w' is no column"),
        ("y + z ~ a + (1 | s)", "'y + z' is no column"),
        ("y ~ a + (0 | s)", "needs a fixed and a random effect"),
        ("y ~ 0 + (1 | s)", "needs a fixed and a random effect"),
    ],
)
def test_formulas_outside_the_scope(formula: str, said: str) -> None:
    with pytest.raises(LingprobError, match=re.escape(said)):
        parse_formula(formula)


def broken(**changes: object) -> pd.DataFrame:
    return simulated(60, 5, 1, (30.0, 3.0, 2.0, 2.0, 4.0)).assign(**changes)


@pytest.mark.parametrize(
    ("frame", "formula", "said"),
    [
        (broken(surprisal=2.0), EYE_TRACKING, "surprisal is 2 in every row"),
        (broken(rt_ms=7.0), EYE_TRACKING, "rt_ms is 7 in every row"),
        (broken(subject_id=1), EYE_TRACKING, "subject_id has one value"),
        (broken(subject_id=np.arange(60)), EYE_TRACKING, "60 rows cannot tell 60 groups"),
        (broken().pipe(lambda frame: frame.assign(index=2 * frame["length"] + 1)), EYE_TRACKING,
         "index is determined by length"),
        (broken().pipe(lambda frame: frame.assign(rt_ms=frame["length"])),
         "rt_ms ~ length + (1 | subject_id)", "determine the response exactly"),
        (broken(rt_ms=[np.nan] + [300.0, 200.0] * 29 + [100.0]), EYE_TRACKING, "rt_ms, row 0"),
        (broken(length=[1.0, np.inf] * 30), EYE_TRACKING, "length, row 1: inf .30 such rows"),
        (broken(subject_id=[None, "a", "b"] * 20), EYE_TRACKING, "row 0: the group is missing"),
        (broken(), EYE_TRACKING.replace("index", "indx"), "'indx'. Did you mean 'index'"),
        (broken(), EYE_TRACKING.replace("subject_id", "subject"), "'subject'.*'subject_id'"),
        (broken(length=pd.array([1, None] * 30, dtype="Int64")), EYE_TRACKING,
         "length, row 1: nan .30 such rows"),
        (broken(length=["a", "b"] * 30), EYE_TRACKING, "length: holds str, not numbers"),
        (broken().iloc[:0], EYE_TRACKING, "no rows: the partition or selection"),
    ],
)  # fmt: skip
def test_bad_input(frame: pd.DataFrame, formula: str, said: str) -> None:
    with pytest.raises(LingprobError, match=said):
        fit_one(frame, formula)


def test_formulas_that_are_not_of_the_data() -> None:
    data = read(broken(), [EYE_TRACKING])
    with pytest.raises(LingprobError, match=r"'lenth'.* 'length'"):
        fit_mixed_models(data, ["rt_ms ~ lenth + (1 | subject_id)"])
    with pytest.raises(LingprobError, match="the data have rt_ms by subject_id"):
        fit_mixed_models(data, ["log_rt ~ length + (1 | subject_id)"])


def test_a_subject_with_one_observation_is_fine() -> None:
    frame = broken()
    frame.loc[0, "subject_id"] = 99
    assert fit_one(frame, EYE_TRACKING).converged
    assert read(frame, [EYE_TRACKING]).groups.tolist() == [0, 1, 2, 3, 4, 99]


def test_scaled_columns_are_of_size_one() -> None:
    frame = times()
    data = read(frame, ["y ~ a + b + (1 | s)"])
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
    constant = frame.assign(three=3.0, zero=0.0)
    data = read(constant, ["y ~ three + zero + (1 | s)"])
    assert basis(data, (INTERCEPT, "three")).to_own.tolist() == [[1, -3], [0, 1]]
    assert basis(data, ("zero",)).to_own.tolist() == [[1]]


def test_a_response_is_centred_if_there_is_an_intercept() -> None:
    data = read(pd.DataFrame({"y": [1.0, 2.0, 3.0], "a": [2.0, 0.0, 1.0], "s": [0, 1, 0]}),
                ["y ~ a + (1 | s)"])  # fmt: skip
    assert response_scale(data, parse_formula("y ~ a + (1 | s)")) == (2.0, 1.0)
    assert response_scale(data, parse_formula("y ~ 0 + a + (1 | s)")) == (0.0, 1.0)


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
        # Sixty times 0.1 has a mean and a deviation from it with rounding.
        (few(60, 4).assign(b=0.1), "y ~ a + b + (1 | s)", r"b is 0\.1 in every row"),
        (few(60, 4).assign(b=apart(1e-7)), "y ~ a + b + (1 | s)", r"b is 1e\+06 in every row"),
        (few(60, 4).assign(b=apart(1e-5)), "y ~ a + b + (1 | s)", None),
        (few(9, 2).assign(b=lambda rows: -2 * rows["a"]), "y ~ 0 + a + b + (1 | s)",
         "b is determined by a. Leave one out"),
        (almost(4e-10), "y ~ a + b + (1 | s)", None),
        (almost(4e-11), "y ~ a + b + (1 | s)", "b is determined by a"),
    ],
)  # fmt: skip
def test_data_determine_a_model_up_to_a_limit(frame, formula, said) -> None:
    parsed, data = parse_formula(formula), read(frame, [formula])
    bases = basis(data, parsed.fixed), basis(data, parsed.random)
    if said is None:
        check_determined(data, parsed, *bases)
    else:
        with pytest.raises(LingprobError, match=said):
            check_determined(data, parsed, *bases)


@pytest.mark.parametrize("formula", ["y ~ x + (1 | s)", "y ~ x + (1 + x | s)", "y ~ 1 + (1 | s)"])
def test_a_response_without_residual_is_refused(formula: str) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"s": np.repeat(np.arange(8), 10), "x": random.normal(size=80)})
    constant = frame.assign(y=30 * random.normal(size=8)[frame["s"]] + 500)
    responses = [constant, frame.assign(y=2 * frame["x"] + 1)]
    for exact in responses[: 2 if "x" in formula else 1]:
        with pytest.raises(LingprobError, match="determine the response exactly"):
            fit_one(exact, formula)
        noise = 1e-3 * random.normal(size=80)
        assert fit_one(exact.assign(y=exact["y"] + noise), formula).sigma < 2e-3


GROUP = np.arange(80) % 8


def check_left(x: np.ndarray, z: np.ndarray, y: np.ndarray) -> None:
    """Check for a residual of y on x and, in each of eight groups, z."""
    all_columns, right = np.column_stack([z, x, y]), np.column_stack([x, y])
    with_z = np.array([z[own].T @ all_columns[own] for own in np.arange(8)[:, None] == GROUP])
    check_residual("the model", with_z, right.T @ right, 80)


def test_a_response_without_residual_is_told_from_one_with_little() -> None:
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


def test_deviations_are_about_the_mean_wherever_the_shift_is() -> None:
    frame = times()
    data = read(frame, ["y ~ a + b + (1 | s)"])
    np.testing.assert_allclose(data.deviations(), [0, *frame[["a", "b", "y"]].std()])
    # Columns as they are, too, with nothing taken off.
    raw = columns(frame, (INTERCEPT, "a", "b", "y"))
    moments = group_moments(list(raw.T), frame["s"].to_numpy(), 7)
    found = MixedModelData("y", ("a", "b"), np.zeros(4), "s", pd.Index(range(7)), moments)
    np.testing.assert_allclose(found.deviations(), raw.std(axis=0, ddof=1), atol=1e-9)
    two = pd.DataFrame({"y": [0.001, 0.002], "s": 0})
    for rows, sd in ((two, np.sqrt(0.5) / 1000), (two[:1], 0)):
        np.testing.assert_allclose(read(rows, ["y ~ 1 + (1 | s)"]).deviations(), [0, sd])


def test_more_groups_than_sixteen_bits_can_number() -> None:
    groups = 2**16 + 1
    values = np.arange(groups, 0.0, -1)
    moments = group_moments([values], np.arange(groups)[::-1].copy(), groups, 1.0)
    np.testing.assert_array_equal(moments.ravel(), np.arange(groups) ** 2.0)
