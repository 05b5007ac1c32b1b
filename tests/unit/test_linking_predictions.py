"""Predicted ratings and their intervals, against plain formulas and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest

from lingprob.errors import LingprobError
from lingprob.stats.linking_fits import LINKING_FUNCTIONS
from lingprob.stats.linking_predictions import (
    fit_predictor,
    held_out,
    sentences,
)


def made(n: int, seed: int, noise: float = 0.5, units: int | None = None):
    """Sentences whose ratings follow MORCELA with beta .7 and gamma 11, and their true means.

    With `units`, the noise has a share that is common to each of so many units.
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
def test_predictions_and_intervals_are_those_of_the_plain_formulas(function):
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
    quantile = {11: 2.200985160}[len(groups) - 1]
    half = quantile * np.sqrt(design[0] @ covariance @ design[0])
    spread = residual @ residual / (60 - k)
    wide = quantile * np.sqrt(design[0] @ covariance @ design[0] + spread)

    fitted = fit_predictor(sentences(function, *given, unit))
    found = fitted.predict(p, u, length).iloc[0]
    mean = design[0] @ slopes
    wanted = [mean, mean - half, mean + half, mean - wide, mean + wide]
    assert found.to_numpy() == pytest.approx(wanted, rel=1e-9)


def test_held_out_predictions_are_those_of_refits_without_the_unit():
    given, _, unit = made(50, 2, units=9)
    data = sentences("morcela", *given, unit)
    found = held_out(data, data.unit)
    for row in range(50):
        others = [values[unit != unit[row]] for values in given]
        predictor = fit_predictor(sentences("morcela", *others))
        one = predictor.predict(*(values[row : row + 1] for values in given[:3]))
        assert found[row] == pytest.approx(one["predicted"].item(), rel=1e-9)
    alone = sentences("morcela", *given)
    assert not np.allclose(held_out(alone, alone.unit), found)


@pytest.mark.parametrize("units", [None, 40])
def test_intervals_hold_the_truth_as_often_as_they_say(units):
    """300 samples of 200 sentences, seeds 0 to 299; the mean rating of ten other sentences, and
    one new rating of each. With .95 of 300 the standard error is .013."""
    (p, u, length, _), mean, _ = made(10, 999)
    of_mean, of_rating = [], []
    noise = 0.5 * (np.sqrt(2) if units else 1)
    for seed in range(300):
        given, _, unit = made(200, seed, units=units)
        found = fit_predictor(sentences("morcela", *given, unit)).predict(p, u, length)
        new = mean + np.random.default_rng([seed, 1]).normal(0, noise, 10)
        of_mean.append(found["predicted_low"].lt(mean) & found["predicted_high"].gt(mean))
        of_rating.append(found["rating_low"].lt(new) & found["rating_high"].gt(new))
    assert 0.92 < np.mean(of_mean) < 0.975
    assert 0.93 < np.mean(of_rating) < 0.97


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"unigram_logprob": None}, "needs unigram_logprob, and these sentences have none"),
        ({"n_tokens": np.full(30, 7.0)}, "does not vary, or others determine it"),
        ({"unit": np.repeat([0, 1, 2], 10)}, "3 units .* too few for 4 coefficients"),
        ({"unit": np.arange(30) % 4}, "4 units .* too few for 4 coefficients"),
        ({"unit": [None] * 30}, "unit has 0 values for 30 sentences"),
        ({"unit": np.arange(29)}, "unit has 29 values for 30 sentences"),
        ({"rating": np.ones(30)}, "rating is 1 in every row"),
        ({"linking_function": "slr"}, "linking function 'slr'.*slor"),
    ],
)
def test_input_that_no_fit_can_be_made_of_is_refused(change, said):
    names = ("logprob", "unigram_logprob", "n_tokens", "rating")
    given = {"linking_function": "morcela", **dict(zip(names, made(30, 3)[0], strict=True))}
    with pytest.raises(LingprobError, match=said):
        sentences(**{**given, **change})


def test_a_unit_more_than_coefficients_is_enough_and_their_scale_does_not_matter():
    p, u, length, rating = made(30, 3)[0]
    assert sentences("morcela", p, u, length, rating, np.arange(30) % 5).unit.max() == 4
    found = [
        fit_predictor(sentences("morcela", scale * p, scale * u, length, rating))
        .predict(scale * p, scale * u, length)
        .to_numpy()
        for scale in (1.0, 1e-10)
    ]
    assert found[1] == pytest.approx(found[0], rel=1e-4)


def test_sentences_without_unigrams_are_predicted_by_what_needs_none():
    given, _, _ = made(30, 4)
    of_logprob = fit_predictor(sentences("mean_logprob", *given))
    assert len(of_logprob.predict(given[0], None, given[2])) == 30
    with pytest.raises(LingprobError, match="these sentences have none"):
        fit_predictor(sentences("slor", *given)).predict(given[0], np.full(30, np.nan), given[2])
    with pytest.raises(LingprobError, match="n_tokens, row 0: 0 "):
        of_logprob.predict(given[0], None, 0 * given[2])
