"""Spillover: lags word by word, other packages' regressions, and simulated truth."""

from __future__ import annotations

from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm

from layout import layout_faults
from lingprob.catalog import Catalog
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.papers.contract import Run
from lingprob.papers.leakage.reading.analysis import Study, compare_regressions
from lingprob.papers.leakage.reading.spillover import spillover
from lingprob.papers.leakage.reading.spillover_figure import spillover as drawn
from lingprob.papers.leakage.reading.spillover_fits import Times
from lingprob.reading.previous_words import lag_name, lagged
from lingprob.regression.linear_mixed.added_intercepts import add_intercepts
from lingprob.regression.linear_mixed.crossed_data import CrossedData
from lingprob.regression.linear_mixed.fit import fit_mixed_models
from lingprob.tables import read_table, write_table

# Random slopes of surprisal and index (leakage, Table 3).
ENTRY = {"texts": "mine", "method": "eye_tracking", "unit": "subject", "measure": "time"}
OF_MEANS = {**ENTRY, "unit": "word"}
FIT: dict[str, Any] = {"bootstrap": 200, "seed": 1, "scale": "test"}
SUBJECTS, PASSAGES, SENTENCES, LENGTH = 8, 10, 6, 8
WORDS = SENTENCES * LENGTH
MS_PER_BIT = (4.0, 2.0, 1.0)  # of a word and of those before it
READ = "unigram_surprisal length"
UNIT = 20.0  # ms, of the residuals
WORD_SD = 15.0  # ms


def study_of(word_sd: float = 0.0, seed: int = 3) -> Study:
    """Readers of passages whose times depend on the surprisals of a word and of those before it."""
    random = np.random.default_rng(seed)
    n = PASSAGES * WORDS
    words = pd.DataFrame(
        {
            "passage_id": np.repeat([f"p{number}" for number in range(PASSAGES)], WORDS),
            "word_index": np.tile(np.arange(WORDS), PASSAGES),
        }
    )
    words["word"] = ["x" * length for length in random.integers(1, 9, n)]
    words["sentence_index"] = words["word_index"] // LENGTH
    bits = random.exponential(6, n)
    table = words[["passage_id", "word_index"]].assign(
        surprisal=bits, surprisal_uncorrected=bits, n_tokens=1
    )
    expected = 300 + 2 * words["word"].str.len()
    for lag, slope in enumerate(MS_PER_BIT):
        expected += slope * pd.Series(bits).groupby(words["passage_id"]).shift(lag).fillna(0)
    expected += word_sd * np.random.default_rng(seed + 1).normal(size=n)
    sentence = words.groupby(["passage_id", "sentence_index"], sort=False).ngroup()
    names = np.array(["fit", "fit", "exploratory", "held_out"])
    keys = words[["passage_id", "word_index"]]
    times = [
        keys.assign(
            subject_id=f"s{subject}",
            rt_ms=expected
            + random.normal(0, 30)
            + random.normal(0, 1) * bits
            + random.normal(0, 1) * (words["word_index"] % LENGTH)
            + random.normal(0, 20, n),
            previous_fixated=None, excluded=None, partition=names[(subject + sentence) % 4],
        )
        for subject in range(SUBJECTS)
    ]  # fmt: skip
    counts = pd.DataFrame({"word": ["x", "xx", "xxx"], "count": [50, 30, 9]})
    return Study(
        "mine", ENTRY, pd.concat(times, ignore_index=True), words, [counts], {"one": table}
    )


def means_of(study: Study) -> Study:
    """The same as means over readers, a sentence's words in one partition."""
    times = study.times.groupby(["passage_id", "word_index"], as_index=False)["rt_ms"].mean()
    names = np.array(["fit", "fit", "exploratory", "held_out"])
    times = times.assign(
        subject_id="mean", previous_fixated=None, excluded=None,
        partition=names[np.arange(len(times)) // LENGTH % 4],
    )  # fmt: skip
    return study._replace(entry=OF_MEANS, times=times)


def fitted(
    study: Study, words: int = 3, word_intercepts: bool = True, **options: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    models = list(study.surprisals)
    deltas, _ = compare_regressions(
        study, contexts=dict.fromkeys(models, "passage"), corrections=dict.fromkeys(models, True),
        **FIT, **options,
    )  # fmt: skip
    return spillover(study, deltas, words=words, word_intercepts=word_intercepts, **FIT, **options)


def frame_of(study: Study, words: int) -> pd.DataFrame:
    """Every time with its predictors, a word at a time."""
    counts = study.counts[0].set_index("word")["count"]
    bits = study.surprisals["one"]["surprisal"].to_numpy()
    rows = []
    for place, word in study.words.iterrows():
        row = word.to_dict() | {"index": word["word_index"] % LENGTH + 1}
        for lag in range(words + 1):
            if word["word_index"] < lag:
                break
            before = study.words["word"][place - lag]
            count = counts.get(before, 0) + 1
            row[lag_name("unigram_surprisal", lag)] = -np.log2(count / (counts.sum() + 4))
            row[lag_name("length", lag)] = float(len(before))
            row[lag_name("surprisal", lag)] = bits[place - lag]
        rows.append(row)
    return study.times.merge(pd.DataFrame(rows), on=["passage_id", "word_index"]).dropna(
        subset=[lag_name("surprisal", words)]
    )


def names(lags: int, *predictors: str) -> list[str]:
    found = [lag_name(name, lag) for name in predictors for lag in range(lags + 1)]
    return [*found, "index"]


def scaled(frame: pd.DataFrame, columns: list[str], like: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(**{
        name: (frame[name] - like[name].mean()) / like[name].std() for name in columns
    })  # fmt: skip


@pytest.fixture(scope="module")
def of_readers() -> tuple[pd.DataFrame, pd.DataFrame]:
    return fitted(study_of(), word_intercepts=False)


@pytest.fixture(scope="module")
def of_words() -> tuple[pd.DataFrame, pd.DataFrame]:
    return fitted(study_of(word_sd=WORD_SD), words=1)


@settings(deadline=None, max_examples=30)
@given(lengths=st.lists(st.integers(1, 5), min_size=1, max_size=5), most=st.integers(0, 6))
def test_lags_are_those_of_a_loop_over_words(lengths, most):
    passages = [f"p{number}" for number, length in enumerate(lengths) for _ in range(length)]
    values = np.random.default_rng(sum(lengths)).normal(size=len(passages))
    words = pd.DataFrame({"passage_id": passages}, index=np.arange(len(passages)) + 7)
    table = lagged({"a": values, "b": -values}, words, most)
    assert list(table) == [lag_name(name, lag) for name in "ab" for lag in range(most + 1)]
    for place, passage in enumerate(passages):
        for lag in range(most + 1):
            there = place >= lag and passages[place - lag] == passage
            expected = values[place - lag] if there else np.nan
            np.testing.assert_equal(table[lag_name("a", lag)].iloc[place], expected)
            np.testing.assert_equal(table[lag_name("b", lag)].iloc[place], -expected)


def test_slopes_are_those_that_times_were_made_with(of_readers):
    """Slopes of surprisals and of length at all lags, and no growth beyond the last true one."""
    gains, slopes = of_readers
    frame = frame_of(study_of(), 3)
    deviations = frame[frame["partition"] == "fit"].std(numeric_only=True)
    truth = {("surprisal", lag): ms for lag, ms in enumerate(MS_PER_BIT)} | {("length", 0): 2.0}
    last = slopes[(slopes["words"] == 3)]
    assert len(last) == 3 * 4 + 1
    for row in last.itertuples():
        ms = truth.get((row.predictor, row.lag), 0.0) * deviations[lag_name(row.predictor, row.lag)]
        # Readers differ: their mean slope of surprisal is off by 1 / sqrt(8) ms a bit.
        assert row.ms == pytest.approx(ms, abs=3.5 * row.std_error), (row.predictor, row.lag)
        if row.predictor == "surprisal" and row.lag:
            assert row.std_error < 0.7
    growth = gains.set_index("words")[["growth_low", "growth", "growth_high"]]
    assert growth.loc[0].isna().all()
    assert (growth.loc[[1, 2], "growth_low"] > 0).all()
    assert growth.loc[3, "growth_low"] < 0 < growth.loc[3, "growth_high"] + 3
    assert abs(growth.loc[3, "growth"]) < 0.1 * growth.loc[2, "growth"]


def test_regressions_of_means_are_statsmodels_s(caplog):
    caplog.set_level("INFO")
    study = means_of(study_of())
    frame = frame_of(study, 2)
    for held_out in ("marginal", "restandardised"):
        gains, slopes = fitted(study, words=2, held_out=held_out)
        assert (gains["random_by"] == "none").all()
        assert gains["converged"].all()
        assert not gains["singular"].any()
        assert "for intercepts" not in caplog.text
        assert list(gains["words"]) == [0, 1, 2]
        columns = names(2, "surprisal", *READ.split())
        fit_rows, others = (frame[frame["partition"] == name] for name in ("fit", "exploratory"))
        others = scaled(others, columns, others if held_out == "restandardised" else fit_rows)
        fit_rows = scaled(fit_rows, columns, fit_rows)
        for row in gains.itertuples():
            deltas = []
            for predictors in (("surprisal", *READ.split()), READ.split()):
                formula = f"rt_ms ~ {' + '.join(names(row.words, *predictors))}"
                fit = smf.ols(formula, fit_rows).fit()
                sigma = np.sqrt(fit.ssr / fit.nobs)
                deltas.append(norm.logpdf(others["rt_ms"], fit.predict(others), sigma).sum())
                if "surprisal" in predictors:
                    own = slopes[slopes["words"] == row.words]
                    ours = [
                        lag_name(*pair) for pair in zip(own["predictor"], own["lag"], strict=True)
                    ]
                    np.testing.assert_allclose(own["ms"], fit.params[ours], rtol=1e-6)
                    np.testing.assert_allclose(own["std_error"], fit.bse[ours], rtol=1e-6)
            assert row.log_likelihood == pytest.approx(deltas[0], abs=1e-6)
            assert row.log_likelihood_baseline == pytest.approx(deltas[1], abs=1e-6)
            assert row.delta == pytest.approx(deltas[0] - deltas[1], abs=1e-6)
            assert (row.n_fit, row.n_evaluated) == (len(fit_rows), len(others))
            assert row.items == PASSAGES * SENTENCES / 4


def test_regressions_of_readers_are_statsmodels_s(of_readers):
    gains, slopes = of_readers
    frame = frame_of(study_of(), 3)
    fit_rows, others = (frame[frame["partition"] == name] for name in ("fit", "exploratory"))
    columns = names(3, "surprisal", *READ.split())
    others, fit_rows = scaled(others, columns, fit_rows), scaled(fit_rows, columns, fit_rows)
    for lags in (0, 2):
        fixed = names(lags, "surprisal", *READ.split())
        # statsmodels' search wants a response on the scale of its residuals.
        fit = smf.mixedlm(
            f"I(rt_ms / {UNIT}) ~ {' + '.join(fixed)}", fit_rows, groups="subject_id",
            re_formula="~ surprisal + index",
        ).fit(reml=False, method="bfgs")  # fmt: skip
        own = slopes[slopes["words"] == lags]
        ours = [lag_name(*pair) for pair in zip(own["predictor"], own["lag"], strict=True)]
        np.testing.assert_allclose(own["ms"], UNIT * fit.fe_params[ours], atol=5e-3)
        np.testing.assert_allclose(own["std_error"], UNIT * fit.bse_fe[ours], rtol=1e-2)
        held_out = -len(others) * np.log(UNIT)
        for _, rows in others.groupby("subject_id"):
            z = np.column_stack([np.ones(len(rows)), rows["surprisal"], rows["index"]])
            v = fit.scale * np.eye(len(rows)) + z @ fit.cov_re.to_numpy() @ z.T
            expected = fit.fe_params["Intercept"] + rows[fixed] @ fit.fe_params[fixed]
            residual = rows["rt_ms"] / UNIT - expected
            logs = np.linalg.slogdet(2 * np.pi * v)[1]
            held_out -= (logs + residual @ np.linalg.solve(v, residual)) / 2
        assert gains["log_likelihood"].iloc[lags] == pytest.approx(held_out, abs=0.02)
    assert (gains["random_by"] == "subject").all()
    assert (gains["items"] == SUBJECTS).all()


def test_all_numbers_of_words_and_models_have_the_same_times(tmp_path):
    study = study_of()
    one, other = study.surprisals["one"], study.surprisals["one"].copy()
    other["surprisal"] = other["surprisal"] + np.random.default_rng(0).normal(size=len(other))
    other.loc[20, "surprisal"] = np.nan  # the words 20, 21 and 22 of the first passage
    study = study._replace(surprisals={"one": one, "other": other})
    study.times.loc[study.times["word_index"] == 40, "excluded"] = "blink"
    gains, slopes = fitted(study, words=2, word_intercepts=False)
    assert gains["n_left_out"].unique().tolist() == [SUBJECTS * (2 * PASSAGES + 3)]
    assert gains["n_fit"].nunique() == gains["n_evaluated"].nunique() == 1
    assert list(gains["model"]) == ["one"] * 3 + ["other"] * 3
    # Baselines are of no model.
    np.testing.assert_array_equal(*gains["log_likelihood_baseline"].to_numpy().reshape(2, 3))
    alone, _ = fitted(study._replace(surprisals={"other": other}), words=2, word_intercepts=False)
    pd.testing.assert_frame_equal(gains.iloc[3:].reset_index(drop=True), alone)
    np.testing.assert_allclose(
        gains["growth"].iloc[[1, 2]], np.diff(gains["delta"].iloc[:3]), atol=1e-8
    )
    assert gains["growth"].iloc[[0, 3]].isna().all()
    assert ((gains["delta_low"] < gains["delta"]) & (gains["delta"] < gains["delta_high"])).all()
    for name, table in (("spillover", gains), ("spillover_slopes", slopes)):
        write_table(table, name, tmp_path / f"{name}.parquet")
        assert len(read_table(tmp_path / f"{name}.parquet", name)) == len(table)


def test_random_slopes_are_the_paper_s_of_predictors_that_a_regression_has():
    empty = pd.DataFrame()
    times = Times(empty, empty, ("surprisal", "surprisal_1", "length"))
    for fixed, random in (
        (["surprisal", "length"], ["surprisal", "length"]),
        (
            ["surprisal", "surprisal_1", "length", "length_1"],
            ["surprisal", "surprisal_1", "length"],
        ),
        (["length", "length_1"], ["length"]),
    ):
        assert times.formula(fixed).random == ("(Intercept)", *random)
        assert times.formula(fixed).fixed == ("(Intercept)", *fixed)


def test_likelihoods_given_readers_effects_are_those_of_residuals():
    study = study_of()
    gains, _ = fitted(study, words=1, word_intercepts=False, held_out="conditional")
    marginal, _ = fitted(study, words=1, word_intercepts=False)
    # Knowing a reader's own intercept is worth nats for every one of them.
    assert (gains["log_likelihood"] > marginal["log_likelihood"] + SUBJECTS).all()


def test_likelihoods_given_readers_effects_know_them_beside_intercepts_by_word(of_words):
    study = study_of(word_sd=WORD_SD)
    gains, _ = fitted(study, words=1, held_out="conditional")
    known = gains.set_index("random_by")["log_likelihood"]["subject and word"]
    unknown = of_words[0].set_index("random_by")["log_likelihood"]["subject and word"]
    assert known > unknown + SUBJECTS


def test_intercepts_by_word_are_those_of_the_density_of_all_times(of_words):
    """Each reader's times by themselves, and all together, to which readers of a word contribute
    less than as many words would."""
    gains, slopes = of_words
    frame = frame_of(study_of(word_sd=WORD_SD), 1)
    frame["word"] = frame["passage_id"] + frame["word_index"].astype(str)
    fit_rows, others = (frame[frame["partition"] == name] for name in ("fit", "exploratory"))
    columns = names(1, "surprisal", *READ.split())
    others, fit_rows = scaled(others, columns, fit_rows), scaled(fit_rows, columns, fit_rows)
    together, alone = [], []
    for fixed, random in ((columns, "1 + surprisal + index"), (columns[2:], "1 + index")):
        formula = f"rt_ms ~ {' + '.join(fixed)} + ({random} | subject_id)"
        data = CrossedData.from_formulas(fit_rows, [f"{formula} + (1 | word)"])
        fit = add_intercepts(data, *fit_mixed_models(data.by("subject_id"), [formula]), "word")
        residual = (others["rt_ms"] - fit.predict(others, random=False)).to_numpy()
        names_of = fit.covariances[0].columns[1:]
        z = np.column_stack([np.ones(len(others)), others[names_of]])
        subject, word = (others[name].to_numpy() for name in ("subject_id", "word"))
        v = fit.sigma**2 * np.eye(len(others))
        v += np.equal.outer(subject, subject) * (z @ fit.covariances[0].to_numpy() @ z.T)
        v += np.equal.outer(word, word) * fit.covariances[1].iloc[0, 0]
        together.append(multivariate_normal(cov=v).logpdf(residual))
        blocks = [np.flatnonzero(subject == name) for name in np.unique(subject)]
        alone.append([
            multivariate_normal(cov=v[np.ix_(own, own)]).logpdf(residual[own]) for own in blocks
        ])  # fmt: skip
        if len(fixed) == len(columns):
            own = slopes[slopes["random_by"] == "subject and word"]
            np.testing.assert_allclose(own["ms"], fit.fixed_effects[columns], atol=1e-4)
            np.testing.assert_allclose(own["std_error"], fit.standard_errors[columns], rtol=1e-5)
    row = gains.iloc[-1]
    assert (row["random_by"], row["words"], row["converged"]) == ("subject and word", 1, True)
    assert row["joint_delta"] == pytest.approx(together[0] - together[1], abs=1e-3)
    assert row["delta"] == pytest.approx(np.sum(alone[0]) - np.sum(alone[1]), abs=1e-3)
    assert row["log_likelihood"] == pytest.approx(np.sum(alone[0]), abs=1e-3)
    np.testing.assert_allclose(gains["joint_delta"][:2], gains["delta"][:2])


def test_intercepts_of_words_are_found_and_widen_the_errors_of_what_words_are_like(of_words):
    gains, slopes = of_words
    assert list(gains["random_by"]) == ["subject", "subject", "subject and word"]
    assert gains["word_sd"].isna().tolist() == [True, True, False]
    row = gains.iloc[-1]
    assert row["word_sd"] == pytest.approx(WORD_SD, rel=0.15)
    # Without surprisals, words' intercepts hold what these would tell.
    assert row["word_sd_baseline"] > row["word_sd"] + 5
    assert row["growth"] != row["growth"]
    keys = ["random_by", "predictor", "lag"]
    last = slopes[slopes["words"] == 1].set_index(keys).sort_index()
    wider = last.loc["subject and word", "std_error"] / last.loc["subject", "std_error"]
    # Four fitted times of a word, whose residuals have a standard deviation of 20 ms.
    expected = np.sqrt((20**2 / 4 + WORD_SD**2) / ((20**2 + WORD_SD**2) / 4))
    assert wider["surprisal", 1] == pytest.approx(expected, rel=0.1)
    assert wider["length", 0] == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize(("readers", "slopes"), [(1, 1), (8, 200)])
def test_words_read_too_rarely_or_by_too_many_get_no_intercepts(readers, slopes):
    frame = study_of().times
    frame = frame[frame["subject_id"] < f"s{readers}"].assign(word=frame["word_index"])
    frame["word"] += WORDS * frame["passage_id"].str[1:].astype(int)
    names_of = tuple(f"a_{number}" for number in range(slopes))
    assert not Times(frame, frame, names_of).tells_words()
    if slopes > 1:
        assert Times(frame, frame, names_of[:4]).tells_words()


def test_more_words_than_passages_have_are_refused():
    with pytest.raises(LingprobError, match=r"'mine'.* 60 words .*reading\.spillover_words"):
        fitted(means_of(study_of()), words=60)


def test_the_figure_draws_a_line_a_model_in_a_panel_a_data_set(of_readers, of_words):
    lines_of, by_word = of_readers[0], of_words[0].iloc[[-1]].assign(words=3)
    gains = pd.concat([lines_of, by_word])
    models = describe_models(Catalog().models)
    shown = list(models)[:16]
    datasets = ("brown", "dundee", "geco", "provo", "stories")
    many = pd.concat(
        gains.assign(model=name, dataset=dataset) for dataset in datasets for name in shown
    )
    figure = drawn(many, Run("test", models))
    panels = [axis for axis in figure.axes if axis.lines]
    assert len(panels) == len(datasets)
    lines = [line.get_xydata() for line in panels[0].lines if len(line.get_xydata()) == 4]
    assert len(lines) == len(shown)
    places = np.array([xy[:, 0] for xy in lines])
    assert (np.abs(places - lines_of["words"].to_numpy()) < 0.5).all()
    assert len(np.unique(places.round(6))) == 4 * len(shown)
    for xy in lines:
        np.testing.assert_allclose(xy[:, 1], lines_of["delta"])
    hollow = np.vstack([dots.get_offsets() for dots in panels[0].collections[::2]])
    hollow = hollow[np.isclose(hollow[:, 1], by_word["joint_delta"].iloc[0])]
    np.testing.assert_allclose(hollow[:, 0], places[:, -1] + 1)
    assert [text.get_text() for text in panels[0].get_xticklabels()][-2:] == ["3", "by\nword"]
    assert "grows at 1: 16, 2: 16, 3: 0 of 16" in panels[0].get_title().replace("\n", " ")
    assert layout_faults(figure) == []
    plt.close("all")
