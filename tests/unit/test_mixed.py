"""Linear mixed models: values by hand, dense densities, the reduction, bad input."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal, norm

from lingprob.errors import LingprobError
from lingprob.stats import linear_mixed
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from lingprob.stats.linear_mixed.formula import parse_formula, write_formula
from lingprob.stats.linear_mixed.likelihood import Deviance, ModelMoments
from lingprob.stats.linear_mixed.moments import MixedModelData, group_moments
from lingprob.stats.linear_mixed.reduce import reduce_random_effects, settled
from lingprob.stats.linear_mixed.result import MixedFit
from mixed_data import EYE_TRACKING, SELF_PACED, simulated

BALANCED = pd.DataFrame(
    {"y": [1.0, 3.0, 5.0, 7.0, 12.0, 14.0], "subject_id": ["a", "a", "b", "b", "c", "c"]}
)
INTERACTING = (
    "rt_ms ~ surprisal * length + unigram_surprisal + (1 + surprisal + length | subject_id)"
)


def fit_one(frame: pd.DataFrame, formula: str, method: str = "ML", starts: int = 3) -> MixedFit:
    data = MixedModelData.from_formulas(frame, [formula])
    return fit_mixed_models(data, [formula], method=method, starts=starts)[0]


@pytest.fixture(scope="module")
def partitions() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Data to fit, 8 subjects, and held-out data of these and two more, with means off zero."""
    made = [simulated(rows, subjects, seed, (30.0, 5.0, 0.0, 4.0, 0.0))
            for rows, subjects, seed in ((600, 8, 3), (300, 10, 4))]  # fmt: skip
    for frame in made:
        frame["length"] = 3 * frame["length"] + 50
    made[1]["surprisal"] = 1.3 * made[1]["surprisal"] + 0.4
    return made[0], made[1]


def test_the_example_of_the_module_runs() -> None:
    code = [line[4:] for line in str(linear_mixed.__doc__).splitlines() if line.startswith("    ")]
    scope = {"fit_partition": broken(), "exploratory_partition": broken()}
    exec("\n".join(code), scope)
    assert np.isfinite(scope["fit"].log_likelihood)


def test_balanced_anova_by_hand() -> None:
    # Means 2, 6, 13, grand mean 7; between mean square 2 * 62 / 2 = 62, within 6 / 3 = 2.
    fit = fit_one(BALANCED, "y ~ 1 + (1 | subject_id)", "REML")
    assert fit.sigma**2 == pytest.approx(2, rel=1e-6)
    assert fit.covariance.iloc[0, 0] == pytest.approx((62 - 2) / 2, rel=1e-6)
    assert fit.fixed_effects["(Intercept)"] == pytest.approx(7)
    assert fit.standard_errors["(Intercept)"] == pytest.approx(np.sqrt(62 / 6), rel=1e-6)
    # Each group's mean shrinks by 30 / (30 + 2 / 2).
    assert fit.random_effects["(Intercept)"].to_dict() == pytest.approx(
        {"a": -5 * 30 / 31, "b": -30 / 31, "c": 6 * 30 / 31}, rel=1e-6
    )
    # ML divides the between sum of squares by the number of groups, not that less one.
    fit = fit_one(BALANCED, "y ~ 1 + (1 | subject_id)", "ML")
    assert fit.covariance.iloc[0, 0] == pytest.approx((124 / 3 - 2) / 2, rel=1e-6)
    assert fit.converged
    assert not fit.singular


def test_a_standard_deviation_below_a_ten_thousandth_of_the_residuals_is_singular() -> None:
    fit = fit_one(BALANCED, "y ~ 1 + (1 | subject_id)")
    for sd, singular in ((0.9e-4, True), (1.1e-4, False)):
        assert replace(fit, smallest_eigenvalue=sd**2).singular is singular
    assert not replace(fit, smallest_eigenvalue=1e-4**2).singular


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
    fitted, held_out = partitions
    fit = fit_one(fitted, INTERACTING)
    assert fit.log_likelihood == pytest.approx(dense(fit, fitted).sum(), abs=1e-6)
    by_group = fit.held_out_log_likelihood(held_out, per="group")
    np.testing.assert_allclose(by_group, dense(fit, held_out), atol=1e-6, rtol=0)
    total = fit.held_out_log_likelihood(held_out)
    assert total == pytest.approx(by_group.sum(), abs=1e-9)
    assert fit.held_out_log_likelihood(held_out, per="observation") == pytest.approx(total / 300)


def dense(fit: MixedFit, frame: pd.DataFrame) -> np.ndarray:
    """Return each subject's log-density under the whole covariance matrix of its rows."""
    ones = np.ones(len(frame))
    z = np.column_stack([ones, frame["surprisal"], frame["length"]])
    expected = fit.predict(frame, random=False)
    values = []
    for rows in frame.groupby("subject_id").indices.values():
        noise = fit.sigma**2 * np.eye(len(rows))
        covariance = z[rows] @ fit.covariance.to_numpy() @ z[rows].T + noise
        values.append(
            multivariate_normal(expected[rows], covariance).logpdf(frame["rt_ms"].iloc[rows])
        )
    return np.array(values)


def test_predictions_add_a_subjects_own_effects_and_unseen_subjects_have_none(
    partitions: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    fitted, held_out = partitions
    fit = fit_one(fitted, INTERACTING)
    beta, row = fit.fixed_effects, held_out[held_out["subject_id"] == 2].iloc[[0]]
    surprisal, length = row["surprisal"].item(), row["length"].item()
    by_hand = (
        beta["(Intercept)"]
        + beta["surprisal"] * surprisal
        + beta["length"] * length
        + beta["unigram_surprisal"] * row["unigram_surprisal"].item()
        + beta["surprisal:length"] * surprisal * length
    )
    assert fit.predict(row, random=False).item() == pytest.approx(by_hand)
    own = fit.random_effects.loc[2] @ np.array([1, surprisal, length])
    assert fit.predict(row).item() == pytest.approx(by_hand + own)
    unseen = held_out[held_out["subject_id"] == 9]
    np.testing.assert_array_equal(fit.predict(unseen), fit.predict(unseen, random=False))
    conditional = norm(fit.predict(held_out), fit.sigma).logpdf(held_out["rt_ms"]).sum()
    assert fit.held_out_log_likelihood(held_out, "conditional") == pytest.approx(conditional)


def test_standardising_moments_is_standardising_rows(
    partitions: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    fitted, held_out = (MixedModelData.from_formulas(frame, [SELF_PACED]) for frame in partitions)
    scaled = partitions[0].copy()
    for name in fitted.predictors:
        scaled[name] = (scaled[name] - scaled[name].mean()) / scaled[name].std()
    by_rows = fit_one(scaled, SELF_PACED)
    by_moments = fit_mixed_models(fitted.standardised(), [SELF_PACED])[0]
    np.testing.assert_allclose(by_moments.fixed_effects, by_rows.fixed_effects, rtol=1e-8)
    np.testing.assert_allclose(by_moments.standard_errors, by_rows.standard_errors, rtol=1e-8)
    assert by_moments.log_likelihood == pytest.approx(by_rows.log_likelihood, abs=1e-8)
    # On the scale of the fit nothing changes; held-out data on their own scale are other data.
    raw = fit_mixed_models(fitted, [SELF_PACED])[0].held_out_log_likelihood(held_out)
    like = by_moments.held_out_log_likelihood(held_out.standardised(like=fitted))
    assert like == pytest.approx(raw, abs=1e-7)
    own = held_out.standardised()
    np.testing.assert_allclose(own.deviations()[1:-1], 1)
    assert abs(by_moments.held_out_log_likelihood(own) - raw) > 0.01


@pytest.mark.parametrize("value", [0.0, 2.0, 0.1])
def test_what_does_not_vary_is_not_standardised(value: float) -> None:
    # Sixty times 0.1 has a mean and a deviation from it with rounding.
    data = MixedModelData.from_formulas(broken(surprisal=value), [SELF_PACED])
    with pytest.raises(LingprobError, match=f"surprisal is {value:g} in every row"):
        data.standardised()
    with pytest.raises(LingprobError, match=f"surprisal is {value:g} in every row"):
        fit_mixed_models(data, [SELF_PACED])


@pytest.mark.parametrize("reml", [False, True])
def test_the_best_new_direction_is_that_of_a_parabola(reml: bool) -> None:
    # From no variance at all.
    frame = simulated(300, 6, 4, (4.0, 0.0, 0.0, 0.0, 1.0))
    frame["rt_ms"] = (frame["rt_ms"] - frame["rt_ms"].mean()) / frame["rt_ms"].std()
    frame["length"] -= frame["length"].mean()
    columns = [np.ones(len(frame)), frame["length"].to_numpy(), frame["rt_ms"].to_numpy()]
    moments = group_moments(columns, frame["subject_id"].to_numpy(), 6)
    with_z = moments[:, :2, [0, 1, 0, 1, 2]]
    objective = Deviance(ModelMoments(with_z, moments.sum(axis=0), len(frame)), reml)
    start, step = np.zeros((2, 2)), 1e-6
    gain, found = objective.escape(objective.profile(start), start)
    ((_, variance), axes) = np.linalg.eigh(found @ found.T)
    ends = [
        objective.profile(np.column_stack([np.sqrt(place * step) * axes[:, 1], [0, 0]])).deviance
        for place in range(3)
    ]
    slope = (4 * ends[1] - 3 * ends[0] - ends[2]) / (2 * step)
    curvature = max((ends[0] - 2 * ends[1] + ends[2]) / step**2, -slope)
    assert variance == pytest.approx(-slope / curvature, rel=3e-2)
    assert gain == pytest.approx(slope**2 / curvature / 4, rel=3e-2)


def test_models_of_one_batch_are_those_fitted_alone(
    partitions: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    formulas = [SELF_PACED, EYE_TRACKING, "rt_ms ~ 0 + length + (0 + length | subject_id)"]
    data = MixedModelData.from_formulas(partitions[0], formulas)
    for together, formula in zip(fit_mixed_models(data, formulas), formulas, strict=True):
        alone = fit_one(partitions[0], formula)
        assert together.log_likelihood == pytest.approx(alone.log_likelihood, abs=1e-8)
        np.testing.assert_allclose(together.fixed_effects, alone.fixed_effects, rtol=1e-6)


def test_reduction_takes_out_the_least_predictive_slopes() -> None:
    # Only the intercept and the slope of surprisal vary between subjects.
    frame = simulated(4_000, 20, 9, (60.0, 0.0, 0.0, 0.0, 0.0))
    slopes = np.random.default_rng(5).normal(0, 12, 20)
    frame["rt_ms"] += slopes[frame["subject_id"]] * frame["surprisal"]
    baseline = "rt_ms ~ length + index + (1 + length + index | subject_id)"
    data = MixedModelData.from_formulas(frame, [SELF_PACED, baseline])
    reduction = reduce_random_effects(data, [SELF_PACED, baseline])
    assert all(fit.converged and not fit.singular for fit in reduction.fits[0])
    assert all(map(settled, reduction.fits[0]))
    assert not settled(replace(reduction.fits[0][0], converged=False))
    assert "surprisal" in reduction.formulas[0].random
    assert reduction.removed
    for name, cost in reduction.removed.items():
        assert cost > -1e-6
        assert all(name not in formula.random for formula in reduction.formulas)
    # By hand for the first slope: refit without each, keep the best.
    first = next(iter(reduction.removed))
    totals = {}
    for name in ("surprisal", "previous_surprisal", "length", "index"):
        formulas = [parse_formula(text).without_random(name) for text in (SELF_PACED, baseline)]
        totals[name] = sum(fit.log_likelihood for fit in fit_mixed_models(data, formulas))
    assert first == max(totals, key=totals.__getitem__)


def test_reduction_treats_predictors_of_one_role_alike() -> None:
    frame = simulated(2_000, 12, 10, (60.0, 6.0, 0.0, 0.0, 0.0))
    frame["other"] = frame["surprisal"] + 0.5 * frame["unigram_surprisal"]
    formulas = [f"rt_ms ~ {name} + index + (1 + {name} + index | subject_id)"
                for name in ("surprisal", "other")]  # fmt: skip
    data = MixedModelData.from_formulas(frame, formulas)
    roles = {"surprisal": "word surprisal", "other": "word surprisal"}
    reduction = reduce_random_effects(data, formulas, roles=roles)
    structures = {tuple(roles.get(name, name) for name in formula.random)
                  for formula in reduction.formulas}  # fmt: skip
    assert len(structures) == 1
    assert set(reduction.removed) <= {"word surprisal", "index"}


def test_a_role_s_slope_goes_from_all_models_of_all_data_sets() -> None:
    # Readers differ in their slopes of index, and in none of surprisal's: it is taken out.
    frame = simulated(600, 8, 10, (60.0, 0.0, 0.0, 0.0, 40.0))
    for rows in frame.groupby("subject_id").indices.values():
        x = np.column_stack([np.ones(len(rows)), frame.iloc[rows][["surprisal", "index"]]])
        slope = np.linalg.lstsq(x, frame["rt_ms"].iloc[rows])[0][1]
        frame.loc[frame.index[rows], "rt_ms"] -= slope * frame["surprisal"].iloc[rows]
    frame["other"] = 2 * frame["surprisal"] + 1
    formulas = [f"rt_ms ~ {name} + index + (1 + {name} + index | subject_id)"
                for name in ("surprisal", "other")]  # fmt: skip
    data = MixedModelData.from_formulas(frame, formulas)
    roles = {"surprisal": "word", "other": "word"}
    once = reduce_random_effects(data, formulas, roles=roles)
    twice = reduce_random_effects([data, data], formulas, roles=roles)
    for found, data_sets in ((once, 1), (twice, 2)):
        assert [formula.random for formula in found.formulas] == [("(Intercept)", "index")] * 2
        assert [len(fits) for fits in found.fits] == [2] * data_sets
        assert list(found.removed) == ["word"]
    # What it costs is the difference between all fits with and without.
    before = sum(fit.log_likelihood for fit in fit_mixed_models(data, formulas))
    after = sum(fit.log_likelihood for fit in once.fits[0])
    assert once.removed["word"] == pytest.approx(before - after, abs=1e-6)
    assert twice.removed["word"] == pytest.approx(2 * (before - after), abs=1e-6)


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
    data = MixedModelData.from_formulas(frame, formulas)
    with pytest.raises(LingprobError, match=r"\(0 \+ length \| .* has no random slope to spare"):
        reduce_random_effects(data, formulas)


@pytest.mark.parametrize("formula", ["y ~ x + (1 | s)", "y ~ x + (1 + x | s)", "y ~ 1 + (1 | s)"])
@pytest.mark.parametrize("method", ["ML", "REML"])
def test_a_response_without_residual_is_refused(formula: str, method: str) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"s": np.repeat(np.arange(8), 10), "x": random.normal(size=80)})
    constant = frame.assign(y=30 * random.normal(size=8)[frame["s"]] + 500)
    responses = [constant, frame.assign(y=2 * frame["x"] + 1)]
    for exact in responses[: 2 if "x" in formula else 1]:
        with pytest.raises(LingprobError, match="determine the response exactly"):
            fit_one(exact, formula, method)
        noise = 1e-3 * random.normal(size=80)
        assert fit_one(exact.assign(y=exact["y"] + noise), formula, method).sigma < 2e-3


@pytest.mark.parametrize(
    ("formula", "fixed", "random"),
    [
        ("y ~ a + (1 | s)", ("(Intercept)", "a"), ("(Intercept)",)),
        ("y ~ (a|s) + a", ("(Intercept)", "a"), ("(Intercept)", "a")),
        ("y ~ (1 | s)", ("(Intercept)",), ("(Intercept)",)),
        ("y ~ 0 + a + (0 + a | s)", ("a",), ("a",)),
        ("y ~ a + (1 | s) - 1", ("a",), ("(Intercept)",)),
        ("y ~ a * b + (a | s)", ("(Intercept)", "a", "b", "a:b"), ("(Intercept)", "a")),
        ("y ~ 0 + np.log(a):b+(a | s)", ("np.log(a):b",), ("(Intercept)", "a")),
        ("y ~ np.log(a) + (1 + np.log(a) | s)", ("(Intercept)", "np.log(a)"),
         ("(Intercept)", "np.log(a)")),
    ],
)  # fmt: skip
def test_formulas(formula: str, fixed: tuple[str, ...], random: tuple[str, ...]) -> None:
    assert parse_formula(formula)[1:] == ("y", fixed, random, "s")


@pytest.mark.parametrize("fixed", [("(Intercept)", "a"), ("a",)])
@pytest.mark.parametrize("random", [("(Intercept)",), ("a", "a:b")])
def test_a_written_formula_says_what_it_is(fixed: tuple[str, ...], random: tuple[str, ...]) -> None:
    written = write_formula("y", fixed, random, "s")
    assert written == parse_formula(written.text)


def test_a_function_of_a_column() -> None:
    frame = BALANCED.assign(x=[1.0, 2.0, 4.0, 8.0, 16.0, 4.0], z=np.log([1.0, 2, 4, 8, 16, 4]))
    function = fit_one(frame, "y ~ np.log(x) + (1 | subject_id)")
    column = fit_one(frame, "y ~ z + (1 | subject_id)")
    assert function.log_likelihood == pytest.approx(column.log_likelihood, abs=1e-9)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("y ~ a", "0 terms with a bar"),
        ("y ~ a + (1 | s) + (1 | w)", "2 terms with a bar"),
        ("y ~ a + (a || s)", "'| s' is not a grouping factor"),
        ("y ~ a + (1 | s:w)", "'s:w' is not a grouping factor"),
        ("y ~ a + (1 | s + w)", "'s + w' is not a grouping factor"),
        ("y ~ a + offset(b) + (1 | s)", "offsets are not fitted"),
        ("y ~ a + (0 | s)", "needs a fixed and a random effect"),
        ("y ~ 0 + (1 | s)", "needs a fixed and a random effect"),
        ("y ~ a + (1 | s", "parentheses"),
        ("y ~ a - (1 | s)", "not a formula"),
        ("~ a + (1 | s)", "one response"),
        ("y + z ~ a + (1 | s)", "one response"),
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
        (broken(), "rt_ms ~ np.log(lenth) + (1 | subject_id)", "'lenth'. Did you mean 'length'"),
        (broken(), EYE_TRACKING.replace("subject_id", "subject"), "'subject'.*'subject_id'"),
        (broken(length=pd.array([1, None] * 30, dtype="Int64")), EYE_TRACKING,
         "length, row 1: nan .30 such rows"),
        (broken(length=["a", "b"] * 30), EYE_TRACKING, "length: holds str, not numbers"),
        (broken(length=["a", "b"] * 30), "rt_ms ~ index:length + (1 | subject_id)",
         "index:length: not numeric"),
        (broken(), "rt_ms ~ scale(length) + (1 | subject_id)", r"scale\(length\) is estima"),
        (broken(), "rt_ms ~ index + (center(length) | subject_id)", r"center\(length\) is estim"),
        (broken(), "rt_ms ~ poly(length, 2) + (1 | subject_id)", r"poly\(length, 2\) is estimat"),
        (broken(), "scale(rt_ms) ~ length + (1 | subject_id)", r"scale\(rt_ms\) is estimated"),
        (broken().iloc[:0], EYE_TRACKING, "no rows: the partition or selection"),
    ],
)  # fmt: skip
def test_bad_input(frame: pd.DataFrame, formula: str, said: str) -> None:
    with pytest.raises(LingprobError, match=said):
        fit_one(frame, formula)


def test_a_subject_with_one_observation_is_fine() -> None:
    frame = broken()
    frame.loc[0, "subject_id"] = 99
    fit = fit_one(frame, EYE_TRACKING)
    assert fit.converged
    assert fit.random_effects.index.tolist() == [0, 1, 2, 3, 4, 99]


def test_formulas_that_are_not_of_the_data() -> None:
    data = MixedModelData.from_formulas(broken(), [EYE_TRACKING])
    with pytest.raises(LingprobError, match=r"'lenth'.* 'length'"):
        fit_mixed_models(data, ["rt_ms ~ lenth + (1 | subject_id)"])
    with pytest.raises(LingprobError, match="response rt_ms by subject_id"):
        fit_mixed_models(data, ["log_rt ~ length + (1 | subject_id)"])
    for other, said in (("length ~ 1 + (1 | subject_id)", "one response"),
                        ("rt_ms ~ 1 + (1 | item)", "one grouping factor")):  # fmt: skip
        with pytest.raises(LingprobError, match=f"share {said}"):
            MixedModelData.from_formulas(broken(), [EYE_TRACKING, other])
    with pytest.raises(LingprobError, match="cannot be standardised like"):
        data.standardised(like=MixedModelData.from_formulas(broken(), [SELF_PACED]))
    fit = fit_mixed_models(data, [EYE_TRACKING])[0]
    with pytest.raises(LingprobError, match="length, row 3: nan"):
        fit.predict(broken(length=[1.0, 2.0, 3.0, np.nan] + 56 * [1.0]))
    with pytest.raises(LingprobError, match="kind='marginl'"):
        fit.held_out_log_likelihood(data, "marginl")
    with pytest.raises(LingprobError, match="per='group_id'"):
        fit.held_out_log_likelihood(data, "marginal", "group_id")
    with pytest.raises(LingprobError, match="method='MLE'"):
        fit_mixed_models(data, [EYE_TRACKING], method="MLE")
