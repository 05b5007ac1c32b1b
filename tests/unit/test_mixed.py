"""Linear mixed models: values by hand, dense densities, the search, their data, bad input."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

from lingprob.errors import LingprobError
from lingprob.stats import linear_mixed
from lingprob.stats.least_squares import INTERCEPT
from lingprob.stats.linear_mixed import likelihood as search
from lingprob.stats.linear_mixed.fit import MixedFit, fit_mixed_models
from lingprob.stats.linear_mixed.likelihood import ModelMoments
from lingprob.stats.linear_mixed.moments import (
    MixedFormula,
    basis,
    check_determined,
    group_moments,
    parse_formula,
)
from mixed_data import EYE_TRACKING, read, simulated

BALANCED = pd.DataFrame(
    {"y": [1.0, 3.0, 5.0, 7.0, 12.0, 14.0], "subject_id": ["a", "a", "b", "b", "c", "c"]}
)


def fit_one(frame: pd.DataFrame, formula: str) -> MixedFit:
    return fit_mixed_models(read(frame, [formula]), [formula])[0]


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
    """Return y of readers s, who differ in intercepts and slopes of a, whose mean is 2."""
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
    scope = {
        "fit_partition": broken(),
        "exploratory_partition": broken(length=3.0, sentence=[2, 1] * 30),
    }
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
    assert len(fit.start_log_likelihoods) == 3
    for sd, singular in ((0.9e-4, True), (1e-4, False), (1.1e-4, False)):
        assert replace(fit, smallest_eigenvalue=sd**2).singular is singular


def test_log_likelihoods_are_dense_normal_densities(
    partitions: tuple[pd.DataFrame, pd.DataFrame],
) -> None:
    formula = "rt_ms ~ surprisal + length + index + (1 + surprisal + length | subject_id)"
    fitted, held_out = partitions
    fit = fit_one(fitted, formula)
    assert fit.log_likelihood == pytest.approx(dense(fit, fitted).sum(), abs=1e-6)
    # Shares of items are in the order of their names, wherever their rows are.
    item = np.random.default_rng(2).integers(5, size=len(held_out)) * 3
    held_out = held_out.assign(item=item).sample(frac=1, random_state=0)
    shares = fit.held_out_log_likelihoods(held_out, "item")
    by_group = shares.groupby(level=0).sum()
    np.testing.assert_allclose(by_group, dense(fit, held_out), atol=1e-6, rtol=0)
    assert by_group.index.tolist() == list(range(10))
    first = dense(fit, held_out[held_out["item"] <= 3])
    np.testing.assert_allclose(shares.unstack()[[0, 3]].sum(axis=1), first, atol=1e-6)


@pytest.mark.parametrize("column", ["rt_ms", "surprisal"])
def test_held_out_data_are_complete(partitions, column) -> None:
    fitted, held_out = partitions
    fit = fit_one(fitted, "rt_ms ~ surprisal + (1 | subject_id)")
    held_out = held_out.assign(item=1)
    held_out.iloc[3, held_out.columns.get_loc(column)] = np.nan
    with pytest.raises(LingprobError, match=f"{column}, row 3: nan .such rows: 1.; drop"):
        fit.held_out_log_likelihoods(held_out, "item")


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
    "formula", ["y ~ a + b + (1 + a | s)", "y ~ 0 + a + b + (1 + a | s)", "y ~ b + a + (0 + a | s)"]
)
def test_fits_are_generalised_least_squares(formula: str) -> None:
    frame = times()
    fit = fit_one(frame, formula)
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
    assert parsed == MixedFormula("y", fixed, random, "s")
    assert parse_formula(parsed.text) == parsed


@pytest.mark.parametrize(
    "formula",
    [
        "y ~ a", "y ~ a + (1 | s", "y ~ a + (1 || s)", "y ~ a + (1 | s) + (1 | w)",
        "y ~ log(a) + (1 | s)", "~ a + (1 | s)", "y ~ a - (1 | s)", "y ~ a - b + (1 | s)",
        "y ~ a * b + (1 | s)", "y ~ a + + (1 | s)", "y ~ a b + (1 | s)", "y ~ a + (a:b | s)",
        "y ~ a + (1 | s:w)", "y + z ~ a + (1 | s)", "y ~ a + (0 | s)", "y ~ 0 + (1 | s)",
    ],
)  # fmt: skip
def test_formulas_outside_the_scope(formula: str) -> None:
    with pytest.raises(LingprobError, match=f"{re.escape(formula)}.*not a formula of this kind"):
        parse_formula(formula)


def broken(**changes: object) -> pd.DataFrame:
    return simulated(60, 5, 1, (30.0, 3.0, 2.0, 2.0, 4.0)).assign(**changes)


@pytest.mark.parametrize(
    ("frame", "formula", "said"),
    [
        (broken(rt_ms=7.0), EYE_TRACKING, "rt_ms is 7 in every row"),
        (broken(subject_id=1), EYE_TRACKING, "subject_id has one value"),
        (broken().pipe(lambda frame: frame.assign(rt_ms=frame["length"])),
         "rt_ms ~ length + (1 | subject_id)", "determine the response exactly"),
        (broken(rt_ms=[np.nan] + [300.0, 200.0] * 29 + [100.0]), EYE_TRACKING, "rt_ms, row 0"),
        (broken(length=[1.0, np.inf] * 30), EYE_TRACKING, "length, row 1: inf .such rows: 30."),
        (broken(subject_id=[None, "a", "b"] * 20), EYE_TRACKING, "row 0: the group is missing"),
        (broken(), EYE_TRACKING.replace("index", "indx"), "'indx'. Did you mean 'index'"),
        (broken(), EYE_TRACKING.replace("subject_id", "subject"), "'subject'.*'subject_id'"),
        (broken(length=pd.array([1, None] * 30, dtype="Int64")), EYE_TRACKING,
         "length, row 1: nan .such rows: 30."),
        (broken(length=["a", "b"] * 30), EYE_TRACKING, "length: str and not numbers"),
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
    for other in ("log_rt ~ length + (1 | subject_id)", "rt_ms ~ length + (1 | length)"):
        with pytest.raises(LingprobError, match="the data have rt_ms by subject_id"):
            fit_mixed_models(data, [other])


def test_a_subject_with_one_observation_is_fine() -> None:
    frame = broken()
    frame.loc[0, "subject_id"] = 99
    assert fit_one(frame, EYE_TRACKING).converged
    data = read(frame, [EYE_TRACKING])
    assert data.groups.tolist() == [0, 1, 2, 3, 4, 99]
    assert data.deviations()[-1] == pytest.approx(frame["rt_ms"].std())


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
def test_limits_of_determined_models(frame, formula, said) -> None:
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


def test_more_groups_than_sixteen_bits() -> None:
    groups = 2**16 + 1
    values = np.arange(groups, 0.0, -1)
    moments = group_moments([values], np.arange(groups)[::-1].copy(), groups, 1.0)
    np.testing.assert_array_equal(moments.ravel(), np.arange(groups) ** 2.0)


# The search.


def moments(q: int = 2) -> ModelMoments:
    frame = simulated(300, 6, 4, (4.0, 3.0, 0.0, 2.0, 1.0))
    columns = [np.ones(len(frame)), *(frame[name].to_numpy() for name in ("length", "index"))]
    response = (frame["rt_ms"] - frame["rt_ms"].mean()) / frame["rt_ms"].std()
    chosen = columns[:q]
    found = group_moments([*chosen, response.to_numpy()], frame["subject_id"].to_numpy(), 6)
    places = [*range(q), *range(q), q]
    return ModelMoments(found[:, :q][:, :, places], found.sum(axis=0), len(frame))


def ending(deviances: list[float], factor: np.ndarray, monkeypatch) -> list[np.ndarray]:
    """Let every search end at once, at these deviances, and return the starts that were tried."""
    tried: list[np.ndarray] = []
    left = iter(deviances)

    def optimise(_, start):
        tried.append(start)
        profile = search.Profile(next(left, 7.0), *[None] * 4)
        return search.Optimum(factor, profile, 0.0, 0.0)

    monkeypatch.setattr(search, "optimise", optimise)
    return tried


FULL, RANK_ONE = np.array([[2.0, 0.0], [1.0, 1.0]]), np.array([[1.0, 0.0], [1.0, 0.0]])


@pytest.mark.parametrize(
    ("factor", "deviances", "tried", "converged"),
    [
        (FULL, [], 3, True),
        # If starts disagree, others follow until three have reached the best.
        (FULL, [7.0, 1.0], 19, False),
        (FULL, [7.0, 1.0, 7.0, 7.0, 7.0, 7.0, 7.0, 1.0, 1.0], 9, True),
        # At a bound others follow in any case.
        (RANK_ONE, [], 6, True),
        (RANK_ONE, [1.0, *[7.0] * 5, 1.0, 1.0], 8, True),
        (RANK_ONE, [1.0, *[7.0] * 6, 1.0], 18, True),
        (RANK_ONE, [1.0], 18, False),
    ],
)
def test_further_starts(factor, deviances, tried, converged, monkeypatch):
    starts = ending(deviances, factor, monkeypatch)
    best, found = search.best_optimum(moments(), 3)
    assert (len(starts), len(found), best.converged) == (tried, tried, converged)
    assert best.profile.deviance == min([7.0, *deviances])
    np.testing.assert_array_equal(starts[0], np.diag([0.3, 0.05]))
    np.testing.assert_array_equal(starts[1], np.eye(2))
    if tried > 3:  # nearly no variance, much, and the best one without a direction
        np.testing.assert_array_equal(starts[3], 1e-3 * np.eye(2))
        np.testing.assert_array_equal(starts[4], 5 * np.eye(2))
        assert np.linalg.matrix_rank(starts[5], tol=1e-8) == np.linalg.matrix_rank(factor) - 1


@pytest.mark.parametrize(
    ("told", "expected"),
    [((1e-8, -1e-7, True), True), ((1e-6, 0.0, True), False), ((1e-8, -1e-5, True), False),
     ((1e-8, 0.0, False), False)],
)  # fmt: skip
def test_convergence_leaves_nothing_to_gain(told, expected):
    assert search.Optimum(FULL, None, *told).converged is expected


@pytest.mark.parametrize("q", [1, 2, 3])
def test_searches_from_anywhere_end_at_one_optimum(q):
    """Start from no variance at all, so that every gradient by F is zero."""
    found = moments(q)
    starts = [np.zeros((q, q)), 1e-3 * np.eye(q), 50 * np.eye(q), np.full((q, q), 0.5)]
    ends = [search.optimise(found, start) for start in starts]
    deviances = [end.profile.deviance for end in ends]
    assert deviances == pytest.approx([min(deviances)] * 4, abs=1e-6)
    assert all(end.newton_decrement < 1e-7 for end in ends)
