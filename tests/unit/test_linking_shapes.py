"""Powers of length and splines, against plain fits and simulated truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import t as student

from lingprob.errors import LingprobError
from lingprob.regression.linking_shapes import length_exponent, splines

CHI_SQUARED = 3.841458820694124


def made(n: int, seed: int, alpha: float = 1.0, bend: float = 0.0, noise: float = 0.4):
    """Sentences whose ratings follow (p - .7 u + 11) / l^alpha, and a bend in u/l."""
    random = np.random.default_rng(seed)
    length = random.integers(4, 20, n).astype(float)
    unigram = (-8.0 + random.normal(0, 1, n)) * length
    logprob = -4.0 * length + random.normal(0, 8, n)
    mean = 0.5 * (logprob - 0.7 * unigram + 11) / length**alpha
    mean = mean + bend * (unigram / length + 8) ** 2
    return logprob, unigram, length, mean + random.normal(0, noise, n)


def least_squares(columns, rating: np.ndarray) -> tuple[np.ndarray, float]:
    design = np.column_stack([np.ones(len(rating)), *columns])
    slopes = np.linalg.solve(design.T @ design, design.T @ rating)
    return slopes, float(((rating - design @ slopes) ** 2).sum())


def plain(alpha: float, given) -> tuple[np.ndarray, float]:
    p, u, length, rating = given
    power = length**alpha
    return least_squares([p / power, u / power, 1 / power], rating)


@pytest.mark.parametrize("seed", range(1, 5))
def test_the_exponent_is_the_best_and_its_interval_where_the_likelihood_says(seed):
    given = made(150, seed, alpha=0.7)
    found = length_exponent(*given)
    slopes, least = plain(found.alpha, given)
    assert found.sse == pytest.approx(least, rel=1e-9)
    assert (found.beta, found.gamma) == pytest.approx(
        (-slopes[2] / slopes[1], slopes[3] / slopes[1]), rel=1e-6
    )
    others = np.array([plain(alpha, given)[1] for alpha in np.linspace(0.05, 2.9, 500)])
    assert (others >= least * (1 - 1e-9)).all()
    for end in (found.alpha_low, found.alpha_high):
        drop = 150 * np.log(plain(end, given)[1] / least)
        assert drop == pytest.approx(CHI_SQUARED, abs=1e-4)
    assert found.alpha_low < found.alpha < found.alpha_high


def test_the_interval_of_the_exponent_holds_the_truth_as_often_as_it_says():
    """200 samples of 150 sentences, seeds 0 to 199; the standard error at .95 is .015."""
    fits = [length_exponent(*made(150, seed, alpha=0.7)) for seed in range(200)]
    held = [fit.alpha_low < 0.7 < fit.alpha_high for fit in fits]
    assert 0.9 < np.mean(held) < 0.985
    assert np.mean([fit.alpha for fit in fits]) == pytest.approx(0.7, rel=0.05)


def test_an_exponent_of_zero_and_one_that_nothing_tells_are_no_trouble():
    logarithmic = made(150, 3, alpha=0.0)
    found = length_exponent(*logarithmic)
    assert found.alpha_low < 0 < found.alpha_high
    others = [plain(alpha, logarithmic)[1] for alpha in np.linspace(-0.9, 0.9, 100)]
    assert found.sse <= min(others) * (1 + 1e-6)
    p, u, length, _ = made(40, 4)
    noise = np.random.default_rng(4).normal(size=40)
    unsure = length_exponent(p, u, length, noise)
    assert unsure.alpha_high == np.inf
    assert -1 <= unsure.alpha <= 3
    # An interval that is a little narrower than what the end is worth ends before it.
    drop = 40 * np.log(plain(3.0, (p, u, length, noise))[1] / unsure.sse)
    ends = [
        length_exponent(p, u, length, noise, chi2.cdf(part * drop, 1)).alpha_high
        for part in (0.9, 1.1)
    ]
    assert ends[0] < 3
    assert ends[1] == np.inf


@pytest.mark.parametrize(("alpha", "noise", "end"), [(3.5, 1e-3, 3.0), (-1.5, 0.4, -1.0)])
def test_an_exponent_beyond_those_considered_is_at_their_end_and_open_there(alpha, noise, end):
    given = made(150, 6, alpha=alpha, noise=noise)
    found = length_exponent(*given)
    assert found.alpha == pytest.approx(end, abs=1e-4)
    inner, outer = found.alpha_low, found.alpha_high
    if end < 0:
        inner, outer = outer, inner
    assert outer == end * np.inf
    assert 150 * np.log(plain(inner, given)[1] / found.sse) == pytest.approx(CHI_SQUARED, abs=1e-3)


def natural_basis(x: np.ndarray, knots: np.ndarray) -> list[np.ndarray]:
    """Natural cubic splines by truncated powers: x, and one column for each knot but two."""
    last = knots[-1]

    def d(knot: float) -> np.ndarray:
        cubes = np.maximum(x - knot, 0) ** 3 - np.maximum(x - last, 0) ** 3
        return cubes / (last - knot)

    return [x] + [d(knot) - d(knots[-2]) for knot in knots[:-2]]


def test_splines_are_natural_cubic_ones():
    p, u, length, rating = made(200, 5, bend=0.3)
    found = splines(p, u, length, rating)
    columns = [p / length]
    for x in (u / length, length):
        knots = np.quantile(np.unique(x), np.linspace(0, 1, 5))
        columns += natural_basis(x, knots)
    assert found.sse == pytest.approx(least_squares(columns, rating)[1], rel=1e-6)
    assert set(found.curves["term"]) == {"u/l", "l"}


def test_curves_and_their_bands_are_those_of_plain_least_squares():
    """A curve is what its own columns add to the rating, less the mean of its 41 points."""
    p, u, length, rating = made(200, 5, bend=0.3)
    unit = np.arange(200) % 25
    values = {"u/l": u / length, "l": length}
    knots = {term: np.quantile(np.unique(x), np.linspace(0, 1, 5)) for term, x in values.items()}
    columns = [column for term, x in values.items() for column in natural_basis(x, knots[term])]
    design = np.column_stack([np.ones(200), p / length, *columns])
    inverse = np.linalg.pinv(design)
    slopes = inverse @ rating
    residual = rating - design @ slopes
    scores = np.array([inverse[:, unit == one] @ residual[unit == one] for one in range(25)])
    covariance = 25 / 24 * 199 / (200 - 10) * scores.T @ scores
    found = splines(p, u, length, rating, unit)
    assert found.sse == pytest.approx(residual @ residual, rel=1e-6)
    for number, (term, x) in enumerate(values.items()):
        points = np.linspace(*np.quantile(x, [0.01, 0.99]), 41)
        moved = np.column_stack(natural_basis(points, knots[term]))
        moved = moved - moved.mean(axis=0)
        own = slice(2 + 4 * number, 6 + 4 * number)
        effect = moved @ slopes[own]
        half = student.ppf(0.975, 24) * np.sqrt(np.diag(moved @ covariance[own, own] @ moved.T))
        curve = found.curves[found.curves["term"] == term]
        expected = np.column_stack([points, effect, effect - half, effect + half])
        columns = ["value", "effect", "effect_low", "effect_high"]
        np.testing.assert_allclose(curve[columns], expected, rtol=1e-5, atol=1e-6)


def test_splines_of_another_unit_of_log_probability_are_the_same_and_some_texts_have_none():
    p, u, length, rating = made(60, 7)
    small = splines(1e-10 * p, u, length, rating)
    assert small.sse == pytest.approx(splines(p, u, length, rating).sse, rel=1e-6)
    # A word's frequency follows from the length of its sentence.
    with pytest.raises(LingprobError, match="determine no curves"):
        splines(p, length * (length / 20 - 8), length, rating)


def test_in_what_order_the_same_tokens_were_summed_moves_no_knot():
    logprob, unigram, length, rating = (np.tile(column, 2) for column in made(60, 3, bend=0.2))
    rating = rating + np.random.default_rng(4).normal(size=120)
    once = splines(logprob, unigram, length, rating)
    # The second of each two sentences of the same tokens is off in the sixteenth digit.
    unigram = unigram * np.where(np.arange(120) < 60, 1, 1 + np.arange(120) % 3 * 4e-16)
    assert len(np.unique(unigram)) > 60
    again = splines(logprob, unigram, length, rating)
    np.testing.assert_allclose(again.curves["effect"], once.curves["effect"], atol=1e-9)
    assert again.sse == pytest.approx(once.sse, rel=1e-12)


@pytest.mark.parametrize("bend", [0.2, 0.0])
def test_curves_hold_the_truth_at_a_point_as_often_as_they_say(bend):
    """40 samples of 400 sentences, seeds 0 to 39; other terms at their means: .5 x -.7 for a nat
    more, and the bend."""
    inside = []
    for seed in range(40):
        curves = splines(*made(400, seed, bend=bend)).curves
        u = curves[curves["term"] == "u/l"]
        truth = -0.35 * u["value"] + bend * (u["value"] + 8) ** 2
        truth = truth - truth.mean()
        inside.append(((u["effect_low"] <= truth) & (truth <= u["effect_high"])).mean())
        assert u["effect"].mean() == pytest.approx(0, abs=1e-9)
    assert 0.88 < np.mean(inside) < 0.99


@pytest.mark.parametrize("fit", [length_exponent, splines])
def test_sentences_that_show_no_curve_are_refused(fit):
    p, u, length, rating = made(60, 7)
    with pytest.raises(LingprobError, match="need unigram_logprob and 5 different lengths"):
        fit(p, None, length, rating)
    with pytest.raises(LingprobError, match="there are 2"):
        fit(p, u, np.where(length > 9, 5.0, 6.0), rating)
    assert np.isfinite(fit(p, u, np.minimum(length, 8), rating).sse)
