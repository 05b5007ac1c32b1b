"""Curves of surprisal: against other makers of splines, least squares and simulated truth."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from formulaic import model_matrix
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.errors import LingprobError
from lingprob.papers.leakage.regressions import Study, compare_regressions
from studies.linearity.analysis import bends, spline_knots, surprisal_curves

ENTRY = {"texts": "mine", "method": "self_paced", "unit": "subject", "measure": "time"}
OF_MEANS = {**ENTRY, "unit": "word"}
FIT: dict[str, Any] = {"bootstrap": 200, "seed": 1, "scale": "test"}
SUBJECTS, SENTENCES, WORDS = 12, 80, 8


def curved(bits: np.ndarray) -> np.ndarray:
    return 12.0 * np.sqrt(bits)


def straight(bits: np.ndarray) -> np.ndarray:
    return 3.0 * bits


def study_of(link: Any, seed: int = 5, subjects: int = SUBJECTS) -> Study:
    """Readers whose times are a link of surprisal, in a text of sentences of eight words."""
    random = np.random.default_rng(seed)
    n = SENTENCES * WORDS
    words = pd.DataFrame({"passage_id": "1", "word_index": np.arange(n)})
    words["word"] = ["x" * length for length in random.integers(1, 9, n)]
    words["sentence_index"] = words["word_index"] // WORDS
    bits = random.exponential(6, n)
    table = words[["passage_id", "word_index"]].assign(
        surprisal=bits, surprisal_uncorrected=bits + 1, n_tokens=1
    )
    names = np.array(["fit", "fit", "exploratory", "held_out"])
    parts = []
    for subject in range(subjects):
        rt = 300 + random.normal(0, 30) + random.normal(1, 0.2) * link(bits)
        rt = rt + 2 * np.append(0, bits[:-1]) + random.normal(0, 10, n)
        parts.append(
            words[["passage_id", "word_index"]].assign(
                subject_id=f"s{subject:02}", rt_ms=rt, previous_fixated=None, excluded=None,
                partition=names[(subject + words["sentence_index"]) % 4],
            )
        )  # fmt: skip
    counts = pd.DataFrame({"word": ["x", "xx", "xxx"], "count": [50, 30, 9]})
    times = pd.concat(parts, ignore_index=True)
    return Study("mine", ENTRY, times, words, [counts], {"a model": table})


def means_of(study: Study) -> Study:
    """The same as means over readers, a sentence's words in one partition."""
    times = study.times.groupby(["passage_id", "word_index"], as_index=False)["rt_ms"].mean()
    names = np.array(["fit", "fit", "exploratory", "held_out"])
    times = times.assign(
        subject_id="mean", previous_fixated=None, excluded=None,
        partition=names[times["word_index"] // WORDS % 4],
    )  # fmt: skip
    return study._replace(entry=OF_MEANS, times=times)


def fitted(study: Study, **options: Any) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    tables = compare_regressions(
        study, contexts={"a model": "passage"}, corrections={"a model": True}, **FIT, **options
    )
    deltas = tables["delta_log_likelihood"]
    return deltas, *surprisal_curves(study, deltas, **FIT, **options)


@pytest.fixture(scope="module")
def of_curve() -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    return fitted(study_of(curved))


def test_knots_are_harrell_s_quantiles():
    values = np.arange(1001) / 1000
    shares = [0.05, 0.275, 0.5, 0.725, 0.95]
    np.testing.assert_allclose(spline_knots(values, "x"), shares, atol=1e-4)
    with pytest.raises(LingprobError, match=r"^surprisal: too many equal values for 5 knots"):
        spline_knots(np.append(values, np.zeros(2000)), "surprisal")


@settings(deadline=None, max_examples=50)
@given(
    values=st.lists(st.floats(0, 30), min_size=12, max_size=40, unique=True),
    steps=st.lists(st.floats(0.5, 5), min_size=3, max_size=7),
)
def test_a_line_with_bends_spans_natural_cubic_splines(values, steps):
    """They span the same space as formulaic's natural cubic splines with the same knots."""
    knots = np.cumsum(steps)
    x = np.array([*values, *knots, *np.linspace(0, knots[-1] + 5, 40)])
    ours = np.column_stack([np.ones_like(x), x, bends(x, knots)])
    inner = ", ".join(map(repr, knots[1:-1].tolist()))
    term = f"cr(x, knots=[{inner}], lower_bound={knots[0]!r}, upper_bound={knots[-1]!r}, "
    term += "extrapolation='extend') - 1"
    theirs = model_matrix(term.replace("np.float64", ""), pd.DataFrame({"x": x})).to_numpy()
    assert ours.shape[1] == theirs.shape[1] == len(knots)
    left, *_ = np.linalg.lstsq(ours, theirs)
    np.testing.assert_allclose(ours @ left, theirs, atol=1e-6 * np.abs(theirs).max())


def test_beyond_the_outer_knots_it_is_a_line():
    knots = np.array([1.0, 2.0, 4.0, 7.0])
    assert (bends([0.0, 0.5, 1.0], knots) == 0).all()
    beyond = bends([8.0, 9.0, 10.0, 11.0], knots)
    np.testing.assert_allclose(np.diff(beyond, n=2, axis=0), 0, atol=1e-12)
    assert (np.diff(bends([3.0, 3.5, 4.0, 4.5, 5.0], knots), n=2, axis=0) != 0).all()
    # By hand: cubes of distances from knots, over the square of the outer ones' distance, 6.
    at_three = [2**3 / 36, 1**3 / 36]
    ends = [(4**3 * 6 - 1**3 * 3) / 3, (4**3 * 5 - 1**3 * 2) / 3]
    at_eight = [(7**3 - ends[0]) / 36, (6**3 - ends[1]) / 36]
    np.testing.assert_allclose(bends([3.0, 8.0], knots), [at_three, at_eight])


def test_lines_are_the_regressions_that_they_were(of_curve):
    deltas, gains, _ = of_curve
    row = gains.iloc[0]
    assert row["log_likelihood_line"] == pytest.approx(deltas["log_likelihood"][0], abs=1e-6)
    assert row["gain"] == pytest.approx(
        row["log_likelihood_curve"] - row["log_likelihood_line"], abs=1e-6
    )
    assert row["gain_low"] < row["gain"] < row["gain_high"]
    assert row["items"] == SUBJECTS
    assert row["n_evaluated"] == deltas["n_evaluated"][0]


def test_a_square_root_is_found_and_lines_stay(of_curve):
    _, gains, curves = of_curve
    row = gains.iloc[0]
    assert row["gain_low"] > 20
    assert row["p"] < 0.01
    points = curves[curves["predictor"] == "surprisal"]
    truth = curved(points["bits"].to_numpy())
    off = points["ms"] - truth
    # Of 68 ms: twelve readers' mean slope varies by 6%. The root is steepest at 0. There
    # the spline is a line.
    assert (off - off.mean()).abs().iloc[3:].max() < 4
    line = points["line_ms"] - truth
    assert (line - line.mean()).abs().iloc[3:].max() > 10
    _, gains, curves = fitted(study_of(straight))
    row = gains.iloc[0]
    assert row["gain_low"] < 1
    assert row["p"] > 0.01
    inside = curves["ms_low"] <= curves["line_ms"] + 0.2
    assert (inside & (curves["line_ms"] - 0.2 <= curves["ms_high"])).mean() > 0.9


@pytest.mark.slow
def test_bands_cover_the_truth_and_lines_rarely_bend():
    """Fifty texts read in straight lines: pointwise bands, and the test of the gain on them."""
    covered, found = [], []
    for seed in range(50):
        study = study_of(straight, seed=seed)
        _, gains, curves = fitted(study)
        frame = frame_of(study)
        mean = frame.loc[frame["partition"] == "fit", "surprisal"].mean()
        points = curves[curves["predictor"] == "surprisal"]
        truth = straight(points["bits"] - mean)
        covered.append((points["ms_low"] <= truth) & (truth <= points["ms_high"]))
        # Curves that only fit noise lose on other times, so losses are no evidence of a curve.
        found.append(gains["p"].iloc[0] < 0.05 and gains["gain"].iloc[0] > 0)
    assert 0.85 < np.mean(covered) < 0.99
    assert np.mean(found) < 0.1


def test_curves_of_means_are_statsmodels_s():
    study = means_of(study_of(curved))
    deltas, gains, curves = fitted(study)
    row = gains.iloc[0]
    assert row["log_likelihood_line"] == pytest.approx(deltas["log_likelihood"][0], abs=1e-8)
    frame = frame_of(study)
    fit_rows, others = (frame[frame["partition"] == name] for name in ("fit", "exploratory"))
    columns = {}
    for name in ("surprisal", "previous"):
        knots = spline_knots(fit_rows[name], name)
        for number in range(3):
            columns[f"{name}_{number}"] = (name, knots, number)

    def bent(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.assign(**{
            key: bends(rows[name], knots)[:, number]
            for key, (name, knots, number) in columns.items()
        })  # fmt: skip

    formula = " + ".join(["rt_ms ~ surprisal + previous + unigram + length + index", *columns])
    fit = smf.ols(formula, bent(fit_rows)).fit()
    sigma = np.sqrt(fit.ssr / fit.nobs)
    residual = others["rt_ms"] - fit.predict(bent(others))
    expected = -0.5 * np.log(2 * np.pi * sigma**2) - residual**2 / (2 * sigma**2)
    assert row["log_likelihood_curve"] == pytest.approx(expected.sum(), abs=1e-5)
    assert row["converged"]
    points = curves[curves["predictor"] == "surprisal"]
    shown = np.quantile(fit_rows["surprisal"], [0.005, 0.995])
    np.testing.assert_allclose(points["bits"], np.linspace(*shown, 41))
    names = ["surprisal", "surprisal_0", "surprisal_1", "surprisal_2"]
    knots = columns["surprisal_0"][1]
    at = np.column_stack([points["bits"], bends(points["bits"], knots)])
    at = at - bent(fit_rows)[names].mean().to_numpy()
    np.testing.assert_allclose(points["ms"], at @ fit.params[names], atol=1e-6)
    error = np.sqrt(np.diag(at @ fit.cov_params().loc[names, names] @ at.T))
    half = (points["ms_high"] - points["ms_low"]) / 2
    np.testing.assert_allclose(half, 1.959964 * error, rtol=1e-5)


def frame_of(study: Study) -> pd.DataFrame:
    """Every time with its predictors, joined here once more."""
    text = study.words.merge(study.surprisals["a model"], on=["passage_id", "word_index"])
    text["previous"] = text["surprisal"].shift()
    counts = study.counts[0].set_index("word")["count"]
    n = text["word"].map(counts).fillna(0) + 1
    forms = len(counts) + 1
    text["unigram"] = -np.log2(n / (counts.sum() + forms))
    text["length"] = text["word"].str.len()
    text["index"] = text["word_index"] % WORDS + 1
    return study.times.merge(text, on=["passage_id", "word_index"]).dropna(subset="previous")
