"""Linking functions and their predictions against values by hand, and errors of a user's data."""

import subprocess
import sys
from math import log
from typing import Any

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.stats.linking import (
    deviations_about,
    fit_linking_functions,
    information_criteria,
    resample_linking_functions,
)
from lingprob.stats.linking_fits import (
    LINKING_FUNCTIONS,
    correlations,
    predict_held_out,
    predict_ratings,
    weighted_moments,
)
from lingprob.stats.linking_fits import rated_sentences as rated
from lingprob.stats.resampling import fold_numbers, resample_counts

QUICK: dict[str, Any] = {"repeats": 2, "bootstrap": 20}


def sentences(n: int = 60, noise: float = 0.3, seed: int = 0) -> dict[str, Any]:
    """Ratings that follow MORCELA with beta = 0.7 and gamma = 12, up to the noise."""
    generator = np.random.default_rng(seed)
    n_tokens = generator.integers(4, 25, n)
    unigram_logprob = -generator.uniform(6, 11, n) * n_tokens
    logprob = 0.6 * unigram_logprob + generator.normal(0, 6, n)
    rating = 0.5 * (logprob - 0.7 * unigram_logprob + 12) / n_tokens - 1
    return {
        "logprob": logprob, "unigram_logprob": unigram_logprob, "n_tokens": n_tokens,
        "rating": rating + noise * generator.normal(size=n),
    }  # fmt: skip


def fit(data: dict[str, Any], **options: Any) -> pd.DataFrame:
    return fit_linking_functions(**data, **({"clusters": None} | QUICK | options)).set_index(
        "linking_function"
    )


def test_exact_ratings_give_back_beta_and_gamma() -> None:
    row = fit(sentences(noise=0.0)).loc["morcela"]
    assert row[["beta", "beta_low", "beta_high"]].to_numpy(float) == pytest.approx(0.7)
    assert row[["gamma", "gamma_low", "gamma_high"]].to_numpy(float) == pytest.approx(12)
    slope = [f"logprob_slope{end}" for end in ("", "_low", "_high")]
    assert row[slope].to_numpy(float) == pytest.approx(0.5)
    assert row[["r", "r_low", "r_cv", "r_cv_low"]].to_numpy(float) == pytest.approx(1)
    assert row.sse == pytest.approx(0, abs=1e-20)


def test_functions_state_their_predictors_and_fixed_parameters() -> None:
    fits = fit(sentences())
    assert list(fits.index) == list(LINKING_FUNCTIONS)
    assert list(fits.predictors) == [2, 2, 2, 4, 3, 3]
    assert set(fits.n) == {60}
    assert list(fits.loc[["slor", "morcela_beta_1"], "beta"]) == [1, 1]
    assert list(fits.loc[["slor", "morcela_gamma_0"], "gamma"]) == [0, 0]
    learned = fits[["beta_low", "beta_high", "gamma_low", "gamma_high"]].notna()
    assert learned.loc["morcela"].all()
    assert list(learned.loc["morcela_beta_1"]) == [False, False, True, True]
    assert list(learned.loc["morcela_gamma_0"]) == [True, True, False, False]
    assert not learned.loc[["logprob", "mean_logprob", "slor"]].any(axis=None)
    assert fits.loc[["logprob", "mean_logprob"], ["beta", "gamma"]].isna().all(axis=None)


def test_what_is_done_unless_another_number_is_given() -> None:
    given = {"folds": 5, "repeats": 100, "bootstrap": 1000, "confidence": 0.95, "seed": 0}
    chosen = {**sentences(30), "linking_functions": ["logprob", "morcela"]}
    found, draws = resample_linking_functions(**chosen)
    same, same_draws = resample_linking_functions(**chosen, **given)
    pd.testing.assert_frame_equal(found, same)
    pd.testing.assert_frame_equal(draws, same_draws)
    pd.testing.assert_frame_equal(fit_linking_functions(**chosen, clusters=None), same)


def test_what_does_not_vary_correlates_with_nothing() -> None:
    generator = np.random.default_rng(2)
    terms, rating = generator.normal(size=(50, 2)) / 2, generator.normal(size=50)
    same = 0.1 + 1e-7 * terms[:, 0]
    columns = {
        "varied": np.column_stack([np.ones(50), terms, rating]),
        "same term": np.column_stack([np.ones(50), same, terms[:, 0], rating]),
        "same rating": np.column_stack([np.ones(50), terms, same]),
    }
    weights = np.array([np.ones(50), generator.integers(1, 4, 50)])
    for slope in (-3.0, -3e-6):
        r = {name: correlations(moments, np.array([slope, 0.0]))
             for name, moments in weighted_moments(columns, weights).items()}  # fmt: skip
        for found, times in zip(r["varied"], weights.astype(int), strict=True):
            repeated = np.repeat(np.column_stack([terms[:, 0], rating]), times, axis=0)
            assert found == pytest.approx(-np.corrcoef(repeated.T)[0, 1])
        assert np.isnan([r["same term"], r["same rating"]]).all()


def test_information_criteria_by_hand() -> None:
    assert information_criteria(10.0, 10, 3) == pytest.approx((6, 3 * log(10)))
    assert information_criteria(20.0, 10, 1) == pytest.approx((10 * log(2) + 2, 11 * log(2)
                                                               + log(5)))  # fmt: skip


def test_fold_sizes_are_those_of_scikit_learn() -> None:
    shuffles = fold_numbers(13, 5, 50, np.random.default_rng(0))
    assert all(np.bincount(shuffle).tolist() == [3, 3, 3, 2, 2] for shuffle in shuffles)
    assert len(np.unique(shuffles, axis=0)) == 50
    # Over many shuffles each unit is in the first fold 3 times in 13.
    often = (fold_numbers(13, 5, 20_000, np.random.default_rng(1)) == 0).mean(axis=0)
    assert often == pytest.approx(3 / 13, abs=0.015)


def test_resamples_draw_as_many_units_as_there_are() -> None:
    counts = resample_counts(30, 4000, np.random.default_rng(0))
    assert (counts.sum(axis=1) == 30).all()
    assert counts.mean(axis=0) == pytest.approx(1, abs=0.08)
    # A count is binomial with 30 draws of probability 1/30: variance 29/30.
    assert counts.var() == pytest.approx(29 / 30, abs=0.03)


# Student's t of 59 over the normal quantile for 95%, and sqrt(n / (n - 1)), of 60 sentences.
WIDER_OF_60 = 2.000995378 / 1.959963985 * np.sqrt(60 / 59)


def test_gains_and_their_intervals_share_draws() -> None:
    options: dict[str, Any] = {"linking_functions": ["slor", "morcela"], "repeats": 2}
    rows, draws = resample_linking_functions(**sentences(), **options, bootstrap=50)
    rows = rows.set_index("linking_function")
    drawn = draws.pivot(index="draw", columns="linking_function", values="r_cv")
    gain = rows.loc["morcela", "r_cv"] - rows.loc["slor", "r_cv"]
    deviation = drawn["morcela"] - drawn["slor"]
    low, high = gain + WIDER_OF_60 * np.quantile(deviation - deviation.mean(), (0.025, 0.975))
    for name, column in (("morcela", "over_slor"), ("slor", "below_morcela")):
        found = rows.loc[name, [column, f"{column}_low", f"{column}_high"]]
        assert found.to_numpy(float) == pytest.approx((gain, low, high))
    assert np.isnan([rows.loc["slor", "over_slor"], rows.loc["morcela", "below_morcela"]]).all()


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_resample_without_a_fold_is_left_out() -> None:
    """Ten groups in two folds: of resamples of groups, 2 in 2**10 are all of one fold."""
    group = np.arange(60) // 6
    options: dict[str, Any] = {"folds": 2, "together": group, "clusters": group}
    names = ["logprob", "morcela"]
    _, draws = resample_linking_functions(
        **sentences(), **options, linking_functions=names, repeats=1, bootstrap=3000
    )
    (fold,) = fold_numbers(10, 2, 1, np.random.default_rng([0, 0]))
    counts = resample_counts(10, 3000, np.random.default_rng([0, 1]))
    of_one_fold = np.isin(counts[:, fold == 0].sum(axis=1), (0, 10))
    assert of_one_fold.any()
    assert draws["r_cv"].isna().tolist() == of_one_fold.tolist() * 2


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_an_interval_of_deviations_states_its_omissions(caplog: pytest.LogCaptureFixture) -> None:
    def ends(*drawn: float) -> dict[str, float]:
        return deviations_about(7.0, np.array(drawn), "slor", "r_cv", 0.9)

    assert ends(*range(101), np.nan) == pytest.approx({"r_cv_low": 7 - 45, "r_cv_high": 7 + 45})
    assert [record.getMessage() for record in caplog.records] == [
        "slor: 1 of 102 bootstrap refits gave no finite r_cv and are left out of its interval"
    ]
    caplog.clear()
    assert np.isnan([*ends(np.nan, np.nan).values()]).all()
    assert ends(3.0, 3.0) == {"r_cv_low": 7, "r_cv_high": 7}
    assert not caplog.records


@pytest.mark.parametrize("unigram_logprob", [None, np.full(60, np.nan)])
def test_without_unigrams_some_functions_are_left_out(unigram_logprob: np.ndarray | None) -> None:
    fits = fit(sentences() | {"unigram_logprob": unigram_logprob})
    assert list(fits.index) == ["logprob", "mean_logprob"]


def test_one_token_is_fitted_and_five_sentences_suffice() -> None:
    assert len(fit(broken("n_tokens", 5, 1)))
    assert len(fit(sentences(25), linking_functions=["logprob"]))


def broken(column: str, row: int, value: float) -> dict[str, np.ndarray]:
    data = sentences()
    values = data[column].astype(float)
    values[row] = value
    return data | {column: values}


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (sentences() | {"rating": np.zeros(59)}, {}, r"one length.*'rating': \(59,\)"),
        ({name: values[:, None] for name, values in sentences().items()}, {},
         r"one-dimensional.*'rating': \(60, 1\)"),
        (broken("logprob", 7, np.nan), {}, "logprob, row 7: nan"),
        (broken("unigram_logprob", 8, np.nan), {}, "unigram_logprob, row 8: nan"),
        (broken("rating", 9, np.inf), {}, "rating, row 9: inf"),
        (broken("n_tokens", 5, 0), {}, "n_tokens, row 5: 0 .*at least 1"),
        (broken("logprob", 3, 0.5), {}, "logprob, row 3: 0.5 .*turn the sign of surprisals"),
        (broken("unigram_logprob", 4, 1), {}, "unigram_logprob, row 4: 1 .*turn the sign"),
        (sentences(0), {}, "0 sentences .or units of them. are too few"),
        (sentences() | {"rating": np.ones(60)}, {}, "rating is 1 in every row"),
        (sentences() | {"n_tokens": np.full(60, 9)}, {}, "morcela .*: 1/l is constant, or det"),
        (sentences() | {"logprob": np.full(60, -9.0)}, {}, "logprob .*: p is constant, or det"),
        # Values that differ by rounding alone are equal, however large they are.
        (sentences() | {"logprob": -1e6 - 1e-8 * np.arange(60)}, {},
         "logprob .*: p is constant, or det"),
        (sentences() | {"logprob": 2 * sentences()["unigram_logprob"]
                                   + 3 * sentences()["n_tokens"]},
         {"linking_functions": ["morcela_gamma_0"]}, "u/l is constant, or determined by ones, p/l"),
        (sentences(24), {}, "24 sentences .or units of them. are too few for 5 folds: need 25"),
        (sentences(), {"together": np.arange(60) // 3}, "20 sentences .or units of them. are too"),
        (sentences(), {"together": np.arange(59)}, "together has 59 rows, the other arguments 60"),
        (sentences(), {"clusters": ["a"] * 10 + [None] * 50}, "clusters, row 10: the id"),
        (sentences(), {"clusters": ["one"] * 60}, "clusters: all 60 sentences have the same id"),
        (sentences(), {"folds": 1}, "folds=1.*need folds >= 2"),
        (sentences(), {"repeats": 0}, "repeats=0, bootstrap=20, .*repeats >= 1"),
        (sentences(), {"bootstrap": 0}, "repeats=2, bootstrap=0, .*bootstrap >= 1"),
        (sentences(), {"confidence": 0.0}, "confidence=0.0: .*0 < confidence < 1"),
        (sentences(), {"confidence": 1.0}, "confidence=1.0: .*0 < confidence < 1"),
        (sentences(), {"linking_functions": ["SLOR"]}, "'SLOR'. Did you mean 'slor'"),
        (sentences() | {"unigram_logprob": None}, {"linking_functions": ["slor"]}, "none is left"),
    ],
)  # fmt: skip
def test_errors_name_the_argument_and_the_row(
    data: dict[str, np.ndarray], options: dict[str, object], message: str
) -> None:
    with pytest.raises(LingprobError, match=message):
        fit(data, **options)


def two_lengths() -> dict[str, np.ndarray]:
    """Return sentences of which two alone tell 1/l from the intercept."""
    n_tokens = np.full(60, 9)
    n_tokens[[10, 40]] = 7
    return sentences() | {"n_tokens": n_tokens}


def test_undetermined_resamples_are_counted_and_left_out(caplog: pytest.LogCaptureFixture) -> None:
    options = {"repeats": 1, "bootstrap": 2000, "linking_functions": ["morcela_beta_1"], "seed": 1}
    row = fit(two_lengths(), **options).loc["morcela_beta_1"]
    # (1 - 2/60) ** 60 = 0.131 of the resamples miss both sentences.
    [line] = [r.getMessage() for r in caplog.records if "gamma" in r.getMessage()]
    left_out, of_all = (int(word) for word in line.split() if word.isdigit())
    assert left_out / of_all == pytest.approx((58 / 60) ** 60, abs=0.02)
    assert np.isfinite(row[["gamma_low", "gamma_high", "r_low", "r_high"]].to_numpy(float)).all()


def test_folds_that_determine_no_fit_are_an_error() -> None:
    shuffles = fold_numbers(60, 5, 200, np.random.default_rng([0, 0]))
    together = shuffles[:, 10] == shuffles[:, 40]
    first = int(together.argmax())
    said = (
        f"in shuffle {first}, fold {shuffles[first, 10]}, .*the training sentences determine no "
        f"fit .{together.sum()} such folds"
    )
    with pytest.raises(LingprobError, match=said):
        fit(two_lengths(), repeats=200, linking_functions=["morcela_beta_1"])


def test_import_is_light() -> None:
    code = (
        "import sys; from lingprob.stats.linking import fit_linking_functions; "
        "print([m for m in ('statsmodels', 'sklearn', 'scipy', 'torch') if m in sys.modules])"
    )
    path = [entry for entry in sys.path if entry]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {code}"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.strip() == "[]"


# Predicted ratings.


def made(n: int, seed: int, noise: float = 0.5, units: int | None = None):
    """Sentences whose ratings follow MORCELA with beta 0.7 and gamma 11, and their true means.

    With `units`, the noise has a share that is common to each unit.
    """
    random = np.random.default_rng(seed)
    n_tokens = random.integers(4, 20, n).astype(float)
    unigram = -8.0 * n_tokens + random.normal(0, 8, n)
    logprob = -4.0 * n_tokens + random.normal(0, 8, n)
    mean = 0.5 * (logprob - 0.7 * unigram + 11) / n_tokens - 1
    unit = np.arange(n) if units is None else random.integers(units, size=n)
    shared = random.normal(0, noise, n)[unit] if units else 0.0
    rating = mean + random.normal(0, noise, n) + shared
    return (logprob, unigram, n_tokens, rating), mean, unit


@pytest.mark.parametrize("function", LINKING_FUNCTIONS)
def test_predictions_and_intervals_equal_the_plain_formulas(function):
    given, _, unit = made(60, 1, units=12)
    p, u, length, rating = given
    columns = {"p": p, "p/l": p / length, "u/l": u / length, "(p-u)/l": (p - u) / length,
               "1/l": 1 / length}  # fmt: skip
    design = np.column_stack(
        [np.ones(60), *(columns[term] for term in LINKING_FUNCTIONS[function])]
    )
    slopes = np.linalg.solve(design.T @ design, design.T @ rating)
    residual = rating - design @ slopes
    bread = np.linalg.inv(design.T @ design)
    meat = np.zeros_like(bread)
    groups = np.unique(unit)
    for number in groups:
        score = design[unit == number].T @ residual[unit == number]
        meat += np.outer(score, score)
    k = design.shape[1]
    correction = len(groups) / (len(groups) - 1) * 59 / (60 - k)
    covariance = correction * bread @ meat @ bread
    mean, variance = design[0] @ slopes, design[0] @ covariance @ design[0]
    spread = residual @ residual / (60 - k)
    assert len(groups) - 1 == 11
    for confidence, quantile in (((), 2.200985160), ((0.8,), 1.363430318)):
        found = predict_ratings(rated(function, *given, unit), p, u, length, *confidence).iloc[0]
        half, wide = (quantile * np.sqrt(one) for one in (variance, variance + spread))
        wanted = [mean, mean - half, mean + half, mean - wide, mean + wide]
        assert found.to_numpy() == pytest.approx(wanted, rel=1e-9)


def test_held_out_predictions_equal_refits():
    given, _, unit = made(50, 2, units=9)
    data = rated("morcela", *given, unit)
    found = predict_held_out(data)
    for row in range(50):
        others = [values[unit != unit[row]] for values in given]
        one = (values[row : row + 1] for values in given[:3])
        one = predict_ratings(rated("morcela", *others), *one)
        assert found[row] == pytest.approx(one["predicted"].item(), rel=1e-9)
    alone = rated("morcela", *given)
    assert not np.allclose(predict_held_out(alone), found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"unigram_logprob": None}, "needs unigram_logprob, and these sentences have none"),
        ({"n_tokens": np.full(30, 7.0)}, "1/l is constant"),
        ({"unit": np.repeat([0, 1, 2], 10)}, "3 units .* too few for 4 coefficients"),
        ({"unit": np.arange(30) % 4}, "4 units .* too few for 4 coefficients"),
        ({"unit": [None] * 30}, "unit, row 0: the id is missing"),
        ({"unit": np.arange(29)}, "unit has 29 rows, the other"),
        ({"rating": np.ones(30)}, "rating is 1 in every row"),
        ({"linking_function": "slr"}, "linking function 'slr'.*slor"),
    ],
)
def test_input_without_a_fit_is_refused(change, said):
    names = ("logprob", "unigram_logprob", "n_tokens", "rating")
    given = {"linking_function": "morcela", **dict(zip(names, made(30, 3)[0], strict=True))}
    with pytest.raises(LingprobError, match=said):
        rated(**{**given, **change})


def test_one_unit_above_the_coefficients_is_enough():
    p, u, length, rating = made(30, 3)[0]
    assert rated("morcela", p, u, length, rating, np.arange(30) % 5).unit.max() == 4
    found = [
        predict_ratings(rated("morcela", *scaled, length, rating), *scaled, length)
        for scaled in ((scale * p, scale * u) for scale in (1.0, 1e-10))
    ]
    assert found[1].to_numpy() == pytest.approx(found[0].to_numpy(), rel=1e-4)


def test_sentences_without_unigrams_get_simpler_predictions():
    given, _, _ = made(30, 4)
    of_logprob = rated("mean_logprob", *given)
    assert len(predict_ratings(of_logprob, given[0], None, given[2])) == 30
    with pytest.raises(LingprobError, match="these sentences have none"):
        predict_ratings(rated("slor", *given), given[0], np.full(30, np.nan), given[2])
    with pytest.raises(LingprobError, match="n_tokens, row 0: 0 "):
        predict_ratings(of_logprob, given[0], None, 0 * given[2])
