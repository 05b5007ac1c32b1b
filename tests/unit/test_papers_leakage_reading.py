"""What surprisal adds to regressions: against plain references, on small simulated data."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import multivariate_normal, norm

from lingprob.catalog import read_published
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.io.tables import read_table, write_table
from lingprob.papers.leakage.inverse_scaling import published_deltas, read_annotated_means
from lingprob.papers.leakage.reading_claims import compare
from lingprob.papers.leakage.reading_figures import draw, inverse_scaling, side_by_side
from lingprob.papers.leakage.regressions import (
    Study,
    compare_regressions,
    reading_counts,
    table_2,
    trend,
)
from lingprob.papers.leakage.trends import (
    STATE,
    model_differences,
    size_trends,
    slope_weights,
)
from lingprob.papers.run import Run
from lingprob.reading.predictors import perplexity, regression_frame, standardised
from lingprob.stats.least_squares import fit_least_squares
from lingprob.stats.resampling import resampled_sums
from mixed_data import read

PUBLISHED = read_published("reading")
MODELS: dict[str, Any] = {
    name: {"title": name, "family": "f", "family_title": "F", "parameters": size}
    for name, size in (("small", 10**7), ("medium", 10**8), ("large", 10**9))
}
ENTRY = {"texts": "mine", "method": "self_paced", "unit": "subject", "measure": "time"}
OPTIONS: dict[str, Any] = {
    "contexts": dict.fromkeys(MODELS, "passage"), "corrections": dict.fromkeys(MODELS, True),
    "bootstrap": 50, "scale": "test", "seed": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def study() -> dict[str, Any]:
    """Six readers of 60 sentences; times follow the surprisal of `small`, with noise for others."""
    random = np.random.default_rng(5)
    rows = [("1", 0, s) for s in range(60) for _ in range(6)]
    words = pd.DataFrame(rows, columns=["passage_id", "word_index", "sentence_index"])
    words["word_index"] = np.arange(len(words))
    words["word"] = ["x" * n for n in random.integers(1, 9, len(words))]
    true = random.exponential(6, len(words))
    surprisals = {}
    for noise, name in enumerate(MODELS):
        values = true + 4 * noise * random.normal(size=len(words))
        table = words[["passage_id", "word_index"]].assign(surprisal=values, n_tokens=1)
        surprisals[name] = table.assign(surprisal_uncorrected=values + 0.1)
    before = np.append(0, true[:-1])
    inner = np.isin(np.arange(len(words)) % 6, [1, 2, 3, 4])
    parts = []
    for subject in range(6):
        slope = random.normal(6, 2)
        rt = 300 + 30 * subject + slope * true + 3 * before + random.normal(0, 40, len(words))
        part = words[["passage_id", "word_index"]].assign(
            subject_id=f"s{subject}", rt_ms=rt, previous_fixated=None
        )
        part["excluded"] = np.where(inner, None, "sentence_boundary")
        names = np.array(["fit", "fit", "exploratory", "held_out"])
        part["partition"] = np.where(
            inner, names[((subject + words["sentence_index"]) % 4).to_numpy()], None
        )
        parts.append(part)
    times = pd.concat(parts, ignore_index=True)
    counts = pd.DataFrame({"word": ["x", "xx", "xxx"], "count": [50, 30, 9]})
    return {"words": words, "times": times, "surprisals": surprisals, "counts": [counts]}


def compared_of(
    dataset: str,
    entry: dict[str, Any],
    *,
    words: pd.DataFrame,
    times: pd.DataFrame,
    surprisals: dict[str, pd.DataFrame],
    counts: list[pd.DataFrame],
    **options: Any,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    return compare_regressions(Study(dataset, entry, times, words, counts, surprisals), **options)


def delta_log_likelihoods(*data: Any, **options: Any) -> pd.DataFrame:
    return compared_of(*data, **options)[0]


@pytest.fixture(scope="module")
def compared(study: dict[str, Any]) -> tuple[pd.DataFrame, pd.DataFrame]:
    return compared_of("mine", ENTRY, **study, **OPTIONS)


@pytest.fixture(scope="module")
def deltas(compared: tuple[pd.DataFrame, pd.DataFrame]) -> pd.DataFrame:
    return compared[0]


def test_surprisals_of_two_previous_words_are_in_the_regressions(study, deltas):
    table = delta_log_likelihoods("mine", ENTRY, **study, **OPTIONS, previous_words=2)
    formula = table["formula"][0]
    assert "~ surprisal + previous_surprisal + previous_2_surprisal + unigram" in formula
    assert "(1 + surprisal + previous_surprisal + length" in formula
    assert table["delta"][0] > deltas["delta"][0] - 5


def trends_of(table: pd.DataFrame, gains: pd.DataFrame, models: Any) -> pd.DataFrame:
    return size_trends(table, gains, None, models, draws=200, seed=0)


def no_gains(gains: pd.DataFrame) -> pd.DataFrame:
    return gains.iloc[:0]


def frame_of(study: dict[str, Any], **options: Any) -> tuple[pd.DataFrame, list[Any]]:
    unigrams = np.arange(len(study["words"])) % 7.0
    return regression_frame(
        study["times"], study["words"], unigrams, study["surprisals"], **options
    )


def test_predictors_are_each_words_own(study):
    frame, models = frame_of(study)
    assert len(frame) == 6 * 60 * 4
    row = frame[(frame["subject_id"] == "s2") & (frame["sentence"] == 7)].iloc[1]
    place = 7 * 6 + 2
    assert row["index"] == 3
    assert row["length"] == len(study["words"]["word"][place])
    values = study["surprisals"]["medium"]["surprisal"]
    assert row[models[1].surprisal] == values[place]
    assert row[models[1].previous[0]] == values[place - 1]
    uncorrected, _ = frame_of(study, corrected=False)
    assert uncorrected[models[1].surprisal].iloc[0] == pytest.approx(
        frame[models[1].surprisal].iloc[0] + 0.1
    )


def test_times_without_a_predictor_are_left_out_of_all_models_and_told(study, caplog):
    """A word without a surprisal is also the next word's missing previous one."""
    place = 7 * 6 + 2
    surprisals = {name: table.copy() for name, table in study["surprisals"].items()}
    surprisals["medium"].loc[place, "surprisal"] = np.nan
    with caplog.at_level("INFO"):
        frame, _ = frame_of({**study, "surprisals": surprisals}, where="mine")
    assert len(frame) == 6 * (60 * 4 - 2)
    assert "mine: 12 of 1440 reading times are left out" in caplog.text
    assert "surprisal_1 (6), previous_surprisal_1 (6)" in caplog.text


def test_standardisation_takes_the_fit_partitions_statistics(study):
    frame, models = frame_of(study)
    columns = [*models[0].all]
    result = standardised(frame, columns)
    fitted = result["partition"] == "fit"
    assert result.loc[fitted, columns].mean().to_numpy() == pytest.approx(0, abs=1e-12)
    assert result.loc[fitted, columns].std().to_numpy() == pytest.approx(1)
    assert abs(result.loc[~fitted, "surprisal_0"].mean()) > 1e-4
    constant = frame.assign(length=4.0)
    with pytest.raises(LingprobError, match="'length' is 4 in every row of the fit partition"):
        standardised(constant, columns)


def test_delta_is_that_of_two_dense_normal_densities(study, deltas):
    """The held-out marginal log-likelihood by a multivariate normal a subject, at the same fits."""
    from lingprob.stats.linear_mixed.fit import fit_mixed_models

    frame, models = regression_frame(
        study["times"], study["words"],
        -np.log2((study["words"]["word"].map({"x": 50, "xx": 30, "xxx": 9}).fillna(0) + 1) / 93),
        study["surprisals"],
    )  # fmt: skip
    frame = standardised(frame, models[0].all)
    full = (
        "rt_ms ~ surprisal_0 + previous_surprisal_0 + unigram_surprisal + length + index + "
        "(1 + surprisal_0 + previous_surprisal_0 + length + index | subject_id)"
    )
    baseline = "rt_ms ~ unigram_surprisal + length + index + (1 + length + index | subject_id)"
    fitted, other = (frame[frame["partition"] == name] for name in ("fit", "exploratory"))
    data = read(fitted, [full, baseline])
    sums = []
    for fit in fit_mixed_models(data, [full, baseline]):
        total = 0.0
        for _, rows in other.groupby("subject_id"):
            fixed = np.column_stack([np.ones(len(rows)), rows[list(fit.fixed_effects.index[1:])]])
            z = np.column_stack([np.ones(len(rows)), rows[list(fit.covariance)[1:]]])
            covariance = z @ fit.covariance.to_numpy() @ z.T + fit.sigma**2 * np.eye(len(rows))
            mean = fixed @ fit.fixed_effects.to_numpy()
            total += multivariate_normal(mean, covariance).logpdf(rows["rt_ms"])
        sums.append(total)
    row = deltas.set_index("model").loc["small"]
    assert row["log_likelihood"] == pytest.approx(sums[0], abs=1e-5)
    assert row["log_likelihood_baseline"] == pytest.approx(sums[1], abs=1e-5)
    assert row["delta"] == pytest.approx(sums[0] - sums[1], abs=1e-5)


def test_better_surprisals_add_more(deltas):
    by_model = deltas.set_index("model")
    assert by_model["delta"]["small"] > by_model["delta"]["medium"] > by_model["delta"]["large"] > 0
    assert (by_model["delta_low"] <= by_model["delta"]).all()
    assert (by_model["delta"] <= by_model["delta_high"]).all()
    # 6 ms a bit, at a standard deviation of about 6 bits.
    assert by_model["surprisal_ms"]["small"] == pytest.approx(36, abs=10)
    assert set(deltas["n_fit"]) == {6 * 30 * 4}


def test_means_are_regressed_by_least_squares(study):
    one = {**study, "times": study["times"][study["times"]["subject_id"] == "s0"]}
    found, gains = compared_of("mine", {**ENTRY, "unit": "word"}, **one, **OPTIONS)
    frame, models = regression_frame(
        one["times"], one["words"],
        -np.log2((one["words"]["word"].map({"x": 50, "xx": 30, "xxx": 9}).fillna(0) + 1) / 93),
        one["surprisals"],
    )  # fmt: skip
    frame = standardised(frame, models[2].all)
    fitted, other = (frame[frame["partition"] == name] for name in ("fit", "exploratory"))
    values = []
    for names in (models[2].baseline, models[2].all):
        result = sm.OLS(fitted["rt_ms"], sm.add_constant(fitted[list(names)])).fit()
        expected = result.predict(sm.add_constant(other[list(names)]))
        sigma = np.sqrt((result.resid**2).mean())
        values.append(norm(expected, sigma).logpdf(other["rt_ms"]).sum())
    assert found["regression"].unique().tolist() == ["least squares"]
    assert (found["converged"].all(), found["singular"].any()) == (True, False)
    assert found["delta"].iloc[2] == pytest.approx(values[1] - values[0], abs=1e-8)
    for name, columns in (
        (models[2].surprisal, ["surprisal_ms", "surprisal_std_error"]),
        (models[2].previous[0], ["previous_ms", "previous_std_error"]),
    ):
        expected = [result.params[name], result.bse[name]]
        assert found[columns].iloc[2].tolist() == pytest.approx(expected)
    by_sentence = gains[(gains["model"] == "large") & (gains["of"] == "delta")]
    assert by_sentence["nats"].sum() == pytest.approx(values[1] - values[0], abs=1e-8)
    assert set(by_sentence["item_kind"]) == {"sentence"}
    # Surprisals of trailing blanks are .1 bits apart in every word.
    bits = study["surprisals"]["small"]["surprisal"]
    assert found["word_perplexity"].iloc[0] == pytest.approx(2 ** bits.mean())
    options = {**OPTIONS, "corrected": False}
    found, gains = compared_of("mine", {**ENTRY, "unit": "word"}, **one, **options)
    assert found["word_perplexity"].iloc[0] == pytest.approx(2 ** (bits.mean() + 0.1))
    (row,) = gains[(gains["model"] == "small") & (gains["of"] == "log_perplexity")].itertuples()
    assert (row.nats, row.n) == (pytest.approx(np.log(2) * (bits + 0.1).sum()), len(bits))


@pytest.mark.parametrize(("of_length", "kept"), [(9, True), (0.4, False)])
def test_reduced_structures_come_from_the_maximal_one(study, of_length, kept):
    """Slopes of length between readers, in milliseconds, above or below the noise of the baseline.

    Surprisal explains that noise: the models with it have the smaller slopes too, but the baseline
    is singular with them, and all models have to converge.
    """
    random = np.random.default_rng(8)
    subjects = study["times"]["subject_id"].unique()
    slopes = random.normal(0, 1, (6, 3)) * (30, 2, of_length)
    words = study["words"].assign(true=study["surprisals"]["small"]["surprisal"])
    times = study["times"].merge(words, on=["passage_id", "word_index"])
    own = pd.DataFrame(slopes, subjects).loc[times["subject_id"]].to_numpy()
    predictors = [np.ones(len(times)), times["true"], times["word"].str.len()]
    times["rt_ms"] = 300 + 6 * times["true"] + (own * np.column_stack(predictors)).sum(axis=1)
    times["rt_ms"] += random.normal(0, 2, len(times))
    changed = {
        **study,
        "times": times[study["times"].columns],
        "surprisals": {"small": study["surprisals"]["small"]},
    }
    found = delta_log_likelihoods("mine", ENTRY, **changed, **OPTIONS, random_effects="reduced")
    length = " + length" if kept else ""
    assert found["formula"].unique().tolist() == [
        "rt_ms ~ surprisal + previous_surprisal + unigram_surprisal + length + index + "
        f"(1 + surprisal{length} | subject_id)"
    ]
    assert found["baseline_formula"].unique().tolist() == [
        f"rt_ms ~ unigram_surprisal + length + index + (1{length} | subject_id)"
    ]
    assert found["converged"].all()
    assert not found["singular"].any()


def test_a_comparison_is_singular_where_one_of_its_regressions_is(study, caplog):
    """Readers differ in what the baseline has slopes of, and not in those of surprisal."""
    random = np.random.default_rng(2)
    subjects = study["times"]["subject_id"].unique()
    slopes = pd.DataFrame(random.normal(0, 1, (6, 3)) * (30, 9, 9), subjects)
    words = study["words"].assign(true=study["surprisals"]["small"]["surprisal"])
    times = study["times"].merge(words, on=["passage_id", "word_index"])
    predictors = [np.ones(len(times)), times["word"].str.len(), times["word_index"] % 6]
    own = slopes.loc[times["subject_id"]].to_numpy() * np.column_stack(predictors)
    times["rt_ms"] = 300 + 6 * times["true"] + own.sum(axis=1) + random.normal(0, 9, len(times))
    changed = {**study, "times": times[study["times"].columns]}
    with caplog.at_level("WARNING"):
        found = delta_log_likelihoods("mine", ENTRY, **changed, **OPTIONS).set_index("model")
    assert "baseline: " not in caplog.text
    assert "small: " in caplog.text
    assert found.loc["small", "singular"]


@pytest.mark.parametrize("empty", ["fit", "exploratory", "held_out"])
def test_an_empty_partition_is_refused_if_it_is_needed(study, empty):
    times = study["times"][study["times"]["subject_id"] == "s0"]
    times = times[times["partition"] != empty]
    means = {"entry": {**ENTRY, "unit": "word"}, **study, "times": times}
    if empty == "held_out":
        assert len(delta_log_likelihoods("mine", **means, **OPTIONS)) == 3
        return
    with pytest.raises(LingprobError, match="'fit' or 'exploratory' is empty"):
        delta_log_likelihoods("mine", **means, **OPTIONS)


def test_surprisals_of_another_text_are_refused(study):
    short = {name: table.iloc[:-1] for name, table in study["surprisals"].items()}
    with pytest.raises(LingprobError, match="'small': surprisals of 359 words for a text of 360"):
        delta_log_likelihoods("mine", ENTRY, **{**study, "surprisals": short}, **OPTIONS)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda table: 3.0, "predictor 'surprisal of medium' is 3 in every row"),
        (lambda table: table["surprisal"].where(table.index != 7, np.inf),
         "model 'medium': the surprisal of word 7 of passage '1' is infinite, as of 1 words"),
        (lambda table: np.inf, "model 'medium': .* word 0 of passage '1' .* as of 360 words"),
        (lambda table: table.index % 6 + 1.0, "is determined by surprisal of medium"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_surprisals_at_fault_are_those_of_a_model(study, values, message):
    table = study["surprisals"]["medium"]
    surprisals = {**study["surprisals"], "medium": table.assign(surprisal=values(table))}
    with pytest.raises(LingprobError, match=message):
        delta_log_likelihoods("mine", ENTRY, **{**study, "surprisals": surprisals}, **OPTIONS)


def test_least_squares_is_statsmodels():
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(50, 3)), columns=["a", "b", "y"])
    fit = fit_least_squares(frame, "y", ["a", "b"])
    reference = sm.OLS(frame["y"], sm.add_constant(frame[["a", "b"]])).fit()
    assert fit.coefficients.to_numpy() == pytest.approx(reference.params.to_numpy())
    assert fit.standard_errors.to_numpy() == pytest.approx(reference.bse.to_numpy())
    assert fit.log_likelihood == pytest.approx(reference.llf)
    assert fit.log_likelihoods(frame).sum() == pytest.approx(reference.llf)


@pytest.mark.parametrize(
    ("change", "predictors", "message"),
    [
        ({"b": 3.0}, ["a", "b"], "predictor 'b' is 3.0 in every row"),
        ({}, ["a", "c"], "'c' is a combination of those before"),
        ({"y": [0.1] * 7 + [np.nan] * 13}, ["a"], "column 'y', row 7 is nan"),
        ({"y": np.inf}, ["a"], "column 'y', row 0 is inf"),
        ({}, ["a", "d"], "no column 'd'"),
    ],
)
def test_bad_regressions_are_one_clear_message(change, predictors, message):
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(20, 3)), columns=["a", "b", "y"])
    frame = frame.assign(c=2 * frame["a"] - 1).assign(**change)
    with pytest.raises(LingprobError, match=message):
        fit_least_squares(frame, "y", predictors)
    with pytest.raises(LingprobError, match="2 rows for 2 coefficients"):
        fit_least_squares(frame.iloc[:2].assign(y=1.0), "y", ["a"])


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_exact_fits_are_refused_whatever_the_unit(size):
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=300)})
    exact = frame.assign(y=size * (2 * frame["x"] + 1))
    for response in (exact, frame.assign(y=0.1 * size), frame.assign(y=-0.1 * size)):
        with pytest.raises(LingprobError, match="explain 'y' without any error"):
            fit_least_squares(response, "y", ["x"])
    noise = np.random.default_rng(2).normal(size=300)
    fit = fit_least_squares(exact.assign(y=exact["y"] + 1e-6 * size * noise), "y", ["x"])
    assert fit.sigma == pytest.approx(1e-6 * size, rel=0.2)


def test_intervals_draw_items_whole():
    """Two items of sums 0 and 10: three draws in four hold a ten, one in four two of them."""
    gains = np.array([5.0, 5.0, 1.0, -1.0])
    assert resampled_sums(gains, np.array(["a", "a", "b", "b"]), 4000, 0) == (0.0, 20.0)
    assert resampled_sums(gains, np.array(["a"] * 4), 10, 0) == (10.0, 10.0)


def test_perplexity_is_of_the_mean_surprisal():
    table = pd.DataFrame(
        {"surprisal": [np.nan, 2.0, 4.0], "surprisal_uncorrected": [np.nan, 1.0, 5.0],
         "n_tokens": [1, 1, 3]}
    )  # fmt: skip
    assert perplexity(table) == (2**3.0, 2 ** (6 / 4))
    assert perplexity(table.assign(n_tokens=None)) == (2**3.0, None)


def test_trend_is_by_tenfold_size():
    table = pd.DataFrame({"delta": [30.0, 20.0, 10.0], "parameters": [1e7, 1e8, 1e9]})
    assert trend(table, "parameters")["slope"] == pytest.approx(-10)
    assert np.isnan(trend(table.iloc[:2], "parameters")["slope"])


def test_gains_add_up_to_delta_and_perplexity(study, compared):
    """By subject and by passage; the sums are what the other table has."""
    deltas, gains = compared
    by_model = deltas.set_index("model")
    added = gains[gains["of"] == "delta"].groupby("model")["nats"].agg(["sum", "size"])
    assert added["sum"].to_dict() == pytest.approx(by_model["delta"].to_dict())
    assert (added["size"] == 6).all()
    parts = gains[gains["of"] == "log_perplexity"].groupby("model")[["nats", "n"]].sum()
    assert (parts["nats"] / parts["n"]).to_dict() == pytest.approx(
        np.log(by_model["word_perplexity"]).to_dict()
    )
    assert set(gains["item_kind"]) == {"subject", "passage"}


STATES = {
    f"{size}{state}": {**MODELS[size], "fine_tuning_steps": steps}
    for size in MODELS
    for state, steps in (("", 0), ("-ft5", 5))
}


def made_study(deltas: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Three sizes in two states; subject k of 4 gains k - 1 times as much in each.

    Before fine-tuning the sum falls by 1 nat a tenfold, after it by 3.
    """
    gains, rows = [], []
    for name, entry in STATES.items():
        per_tenfold = 3.0 if entry["fine_tuning_steps"] else 1.0
        delta = 20 - per_tenfold * np.log10(entry["parameters"] / 1e7)
        for subject, share in enumerate([0.0, 0.2, 0.3, 0.5]):
            gains.append(("made", name, "delta", "subject", f"s{subject}", share * delta, 5))
        rows.append(deltas.iloc[[0]].assign(dataset="made", model=name, delta=delta))
    columns = ["dataset", "model", "of", "item_kind", "item", "nats", "n"]
    return pd.concat(rows, ignore_index=True), pd.DataFrame(gains, columns=columns)


def test_differences_between_models_are_those_of_the_table_of_fits(compared):
    """Of the same regressions, on the times that the table counts."""
    deltas, gains = compared
    table = model_differences(gains, deltas, draws=50, seed=1)
    fits = deltas.set_index("model")
    assert len(table) == 3
    for row in table.itertuples():
        apart = fits["log_likelihood"][row.model] - fits["log_likelihood"][row.other]
        assert row.difference == pytest.approx(apart, abs=1e-6)
        assert row.n_evaluated == fits["n_evaluated"][row.model] > row.items == 6


def test_trends_are_within_a_state_and_their_intervals_draw_subjects_for_all_models(deltas):
    """Slopes -1 and -3; where a subject has the share s of every gain, draws scale them alike."""
    table, gains = made_study(deltas)
    found = size_trends(table, gains, None, STATES, draws=4000, seed=1)
    found = found[(found["of"] == "delta") & (found["on"] == "parameters")].set_index(STATE)
    assert found["slope"].tolist() == pytest.approx([-1.0, -3.0])
    assert found.loc[5, "change"] == pytest.approx(-2.0)
    assert pd.isna(found.loc[0, "change"])
    assert (found["models"].tolist(), set(found["resampled"])) == ([3, 3], {"subject"})
    # The total share of four drawn subjects: 4 ** 4 draws, all alike.
    shares = np.array([0.0, 0.2, 0.3, 0.5])
    totals = np.add.outer(np.add.outer(shares, shares), np.add.outer(shares, shares)).ravel()
    low, high = np.quantile(totals, [0.025, 0.975])
    for state, slope in ((0, -1.0), (5, -3.0)):
        row = found.loc[state]
        assert [row["slope_low"], row["slope_high"]] == pytest.approx(
            [slope * high, slope * low], abs=0.11 * abs(slope)
        )
    row = found.loc[5]
    assert [row["change_low"], row["change_high"]] == pytest.approx([-2 * high, -2 * low], abs=0.22)


def test_an_interval_of_a_slope_without_the_effect_holds_zero(deltas):
    """Twenty subjects whose gains have nothing to do with size."""
    random = np.random.default_rng(4)
    table, _ = made_study(deltas)
    rows = [
        ("made", name, "delta", "subject", f"s{subject}", random.normal(), 5)
        for name in STATES
        for subject in range(20)
    ]
    columns = ["dataset", "model", "of", "item_kind", "item", "nats", "n"]
    gains = pd.DataFrame(rows, columns=columns)
    table["delta"] = table["model"].map(gains.groupby("model")["nats"].sum())
    found = size_trends(table, gains, None, STATES, draws=1000, seed=1)
    found = found[(found["of"] == "delta") & (found["on"] == "parameters")]
    assert (found["slope_low"] < 0).all()
    assert (found["slope_high"] > 0).all()
    (change,) = found["change"].dropna()
    assert found["change_low"].dropna().item() < change < found["change_high"].dropna().item()


def test_an_interval_of_a_slope_is_of_95_percent(deltas):
    """Of 400 subjects: 1.96 standard errors of their sum to either side."""
    random = np.random.default_rng(6)
    table, _ = made_study(deltas)
    nats = pd.DataFrame({name: random.normal(size=400) for name in STATES})
    gains = nats.rename_axis("item").reset_index().melt("item", var_name="model", value_name="nats")
    gains = gains.assign(dataset="made", of="delta", item_kind="subject", n=5)
    table["delta"] = table["model"].map(nats.sum())
    found = size_trends(table, gains, None, STATES, draws=8000, seed=1)
    found = found[(found["of"] == "delta") & (found["on"] == "parameters")].set_index(STATE)
    for state, row in found.iterrows():
        names = [name for name, entry in STATES.items() if entry.get(STATE, 0) == state]
        sizes = pd.Series([STATES[name]["parameters"] for name in names])
        reach = 1.96 * 20 * (nats[names].to_numpy() @ slope_weights(sizes)).std()
        ends = [row["slope"] - row["slope_low"], row["slope_high"] - row["slope"]]
        assert ends == pytest.approx([reach, reach], rel=0.05)


def test_tables_figures_and_scorecard_of_a_small_study(study, compared, tmp_path):
    deltas, gains = compared
    entry = {**ENTRY, "rt_source": "simulated"}
    labelled = deltas.assign(rt_source="simulated")
    counts = reading_counts("mine", entry, study["times"], "test")
    write_table(labelled, "delta_log_likelihood", tmp_path / "d.parquet")
    write_table(counts, "reading_counts", tmp_path / "c.parquet")
    wide = table_2(counts)
    assert wide.loc[0, ["sentence_boundary", "fit", "exploratory", "held_out"]].tolist() == [
        720, 720, 360, 360
    ]  # fmt: skip
    trends = trends_of(labelled, gains, MODELS)
    write_table(gains, "reading_gains", tmp_path / "g.parquet")
    write_table(trends, "reading_trends", tmp_path / "t.parquet")
    assert trends.set_index(["of", "on"]).loc[("delta", "parameters"), "slope"] < 0
    run = Run("test", describe_models(MODELS), {"mine": "Mine"}, PUBLISHED)
    assert set(trends["items"]) == {6, 1}
    tables = {"delta_log_likelihood": labelled, "reading_trends": trends, "reading_counts": counts}
    card = compare(tables, run)
    write_table(card, "scorecard", tmp_path / "s.parquet")
    assert set(card["kind"]) == {"claim", "number"}
    claims = card[card["row"].str.contains("mine")].set_index(["column", "row"])
    adds = claims.loc["surprisal_predicts_reading_times"]
    assert adds["verdict"].tolist() == ["supported"] * 3
    assert adds["note"].iloc[0].startswith("simulated reading times")
    falls = claims.loc[("fit_falls_with_size_of_pretrained_models", "mine/f, passage context")]
    assert falls["verdict"] == "supported"
    assert falls["note"].startswith("3 models, 6 subjects; simulated reading times")
    assert falls["high"] > trends.set_index(["of", "on"]).loc[("delta", "parameters"), "slope_high"]
    half = claims.loc[("exploratory_partition_is_half_the_fit_partition", "mine")]
    assert (half["ours"], half["verdict"]) == (0.5, "supported")
    figure = draw({"delta_log_likelihood": labelled}, run)["figure_2"]
    assert "SIMULATED READING TIMES" in figure._supxlabel.get_text()


def test_figure_2_is_by_token_where_tokens_are_known_and_names_near_sizes(deltas):
    near = {name: {**MODELS[name], "parameters": size} for name, size in
            (("small", 120_000), ("medium", 400_000), ("large", 1_300_000))}  # fmt: skip
    table = deltas.assign(token_perplexity=[30.0, 20.0, 10.0])
    run = Run("test", describe_models(near), {"mine": "Mine"})
    for drawn, column in ((table, "token"), (table.assign(token_perplexity=None), "word")):
        lower = draw({"delta_log_likelihood": drawn}, run)["figure_2"].axes[1]
        assert lower.get_ylabel() == f"{column} perplexity"
        line = next(line for line in lower.lines if len(line.get_xdata()) == 3)
        assert list(line.get_ydata()) == drawn[f"{column}_perplexity"].tolist()
        assert [label.get_text() for label in lower.get_xticklabels()] == ["120k", "1M"]


def many(deltas: pd.DataFrame, sizes: dict[str, int | None]) -> tuple[pd.DataFrame, dict]:
    """As many models, with ΔLogLik 30, 20, 10, ..., and their catalog entries."""
    rows = [deltas.iloc[[0]].assign(model=name, delta=30.0 - 10 * n, delta_low=0.0, delta_high=40.0)
            for n, name in enumerate(sizes)]  # fmt: skip
    models = {name: {**MODELS["small"], "title": name, "parameters": sizes[name]} for name in sizes}
    return pd.concat(rows, ignore_index=True).assign(rt_source="human"), models


def test_models_of_one_size_stand_side_by_side(deltas):
    """Each a marker's width apart, their size in the middle, in the table's order."""
    sizes = pd.Series([1e6, 1e8, 1e6, 1e6])
    assert side_by_side(sizes).tolist() == pytest.approx([1e6 / 10**0.08, 1e8, 1e6, 1e6 * 10**0.08])
    assert side_by_side(pd.Series([1e6] * 2)).tolist() == pytest.approx(
        [1e6 / 10**0.02, 1e6 * 10**0.02]
    )
    table, models = many(deltas, {"a": 10**7, "b": 10**8, "after": 10**8})
    figure = draw(
        {"delta_log_likelihood": table}, Run("test", describe_models(models), {"mine": "Mine"})
    )
    for axes in figure["figure_2"].axes[:2]:
        points = {line.get_xdata()[0] for line in axes.lines if len(line.get_xdata()) == 1}
        assert sorted(points) == pytest.approx([1e7, 1e8 / 10**0.02, 1e8 * 10**0.02])


def test_trends_mix_neither_contexts_nor_corrections(compared):
    """Three models each: ours, and imported ones by their sentences or without correction."""
    deltas, gains = compared
    table, models = many(deltas, {"a": 10**7, "b": 10**8, "c": 10**9})
    others = [{"context": "sentence"}, {"corrected": None}, {"context": "imported"}]
    table = pd.concat([table, *(table.assign(**change) for change in others)], ignore_index=True)
    found = trends_of(table, no_gains(gains), models)
    sizes = found[(found["of"] == "delta") & (found["on"] == "parameters")]
    assert sizes["models"].tolist() == [3, 3, 3, 3]
    assert sizes["slope"].to_numpy() == pytest.approx([-10] * 4)


def test_models_of_unknown_size_are_in_no_trend_and_no_figure_over_size(study, compared):
    deltas, gains = compared
    table, models = many(deltas, {"a": 10**7, "b": 10**8, "c": 10**9, "mystery": None})
    table["word_perplexity"] = [40.0, 30.0, 20.0, 10.0]
    found = trends_of(table, no_gains(gains), models)
    found = found[found["of"] == "delta"].set_index("on")
    assert found.loc["parameters", ["models", "slope"]].tolist() == [3, pytest.approx(-10)]
    assert found.loc["word_perplexity", "models"] == 4
    run = Run("test", describe_models(models), {"mine": "Mine"})
    figure = draw({"delta_log_likelihood": table}, run)["figure_2"]
    drawn = [line for line in figure.axes[0].lines if len(line.get_xdata()) == 3]
    assert drawn[0].get_xdata().tolist() == [1e7, 1e8, 1e9]
    assert "of unknown size: mystery" in [text.get_text() for text in figure.legends[0].texts]
    counts = reading_counts("mine", ENTRY, study["times"], "test")
    trends = trends_of(table, no_gains(gains), models)
    tables = {"delta_log_likelihood": table, "reading_trends": trends, "reading_counts": counts}
    card = compare(tables, replace(run, published=PUBLISHED))
    (note,) = card.loc[card["column"] == "fit_falls_with_size_of_pretrained_models", "note"]
    assert note == "3 models"


def test_trends_mix_no_corrected_surprisals_with_others(study, compared, tmp_path):
    deltas, gains = compared
    names = "abcdefghi"
    table, models = many(deltas, {name: 10 ** (n % 3 + 7) for n, name in enumerate(names)})
    table["corrected"] = [True] * 3 + [False] * 3 + [None] * 3
    table["context"] = "imported"
    write_table(table, "delta_log_likelihood", tmp_path / "d.parquet")
    read = read_table(tmp_path / "d.parquet", "delta_log_likelihood")
    found = trends_of(read, no_gains(gains), models)
    sizes = found[(found["of"] == "delta") & (found["on"] == "parameters")]
    assert sizes["models"].tolist() == [3, 3, 3]
    assert sizes["corrected"].tolist() == [True, False, None]
    counts = reading_counts("mine", ENTRY, study["times"], "test")
    tables = {"delta_log_likelihood": read, "reading_trends": found, "reading_counts": counts}
    card = compare(tables, Run("test", describe_models(models), published=PUBLISHED))
    of_size = card[card["column"] == "fit_falls_with_size_of_pretrained_models"]
    assert of_size["row"].tolist() == [
        "mine/f, imported context, corrected", "mine/f, imported context, uncorrected",
        "mine/f, imported context",
    ]  # fmt: skip


def test_corrections_are_on_record(study):
    corrections = {"small": None, "medium": True, "large": False}
    found = delta_log_likelihoods("mine", ENTRY, **study, **{**OPTIONS, "corrections": corrections})
    assert found["corrected"].tolist() == [None, True, False]


def test_published_fits_on_a_small_text(tmp_path):
    """Two stories, numbered 2 and 10, which string order turns around."""
    random = np.random.default_rng(2)
    rows, stories = [], {}
    for story, sentences in ((2, 30), (10, 40)):
        zone = 0
        stories[str(story)] = []
        for sentence in range(sentences):
            stories[str(story)].append(random.exponential(4, 8).tolist())
            for place in range(8):
                zone += 1
                rows.append((story, zone, place == 0, place == 7, sentence + 100 * story))
    means = pd.DataFrame(rows, columns=["article", "zone", "is_first", "is_last", "sent_id"])
    surprisal = np.concatenate([np.concatenate(stories[name]) for name in ("2", "10")])
    for lag in ("", "_prev_1", "_prev_2"):
        means[f"length{lag}"] = random.normal(size=len(means))
        means[f"log_gmean_freq{lag}"] = random.normal(size=len(means))
    means["time"] = 300 + 5 * np.append(surprisal[1:], 0) + random.normal(0, 5, len(means))
    means.loc[19, "time"] = 0.0  # in no regression
    means.loc[28, "time"] = 0.5
    means.sample(frac=1, random_state=1).to_csv(tmp_path / "means.csv")
    read = read_annotated_means(tmp_path / "means.csv")
    pd.testing.assert_frame_equal(read[["article", "zone"]], means[["article", "zone"]])
    result = tmp_path / "r.result"
    result.write_text("delta loglik: 1.5\nperplexity: 9.25\nNo. Observations:   420\n")
    (tmp_path / "s.json").write_text(json.dumps(stories))
    table = pd.DataFrame(
        {"passage_id": means["article"].astype(str), "word_index": means["zone"] - 1,
         "surprisal": surprisal / np.log(2)}
    )  # fmt: skip
    fits = published_deltas(
        read, {"one": (tmp_path / "s.json", result)}, {"two": table}, bootstrap=20, seed=0,
        scale="test",
    )  # fmt: skip
    by_row = fits.set_index(["model", "convention"])
    assert by_row.loc[("one", "compat"), ["published_delta", "published_perplexity"]].tolist() == [
        1.5, 9.25
    ]  # fmt: skip
    # The same surprisals as a table of bits give the same fits.
    for convention in ("numeric_order", "realigned", "realigned_all"):
        ours = by_row.loc[("two", convention), "delta"]
        assert ours == pytest.approx(by_row.loc[("one", convention), "delta"])
        perplexities = by_row.loc[[("one", convention), ("two", convention)], "word_perplexity"]
        assert perplexities.iloc[1] == pytest.approx(perplexities.iloc[0])
    # The label of a word has the time of the next: realigned, the word's own surprisal tells most.
    assert by_row.loc[("one", "realigned"), "delta"] > 100
    assert by_row.loc[("one", "numeric_order"), "delta"] < 10
    looks = describe_models({"one": MODELS["small"], "two": MODELS["large"]})
    figure = inverse_scaling(fits, Run("test", looks))
    assert len(figure.axes) == 8
    for convention in ("compat", "numeric_order", "realigned", "realigned_all"):
        found = by_row.loc[("one", convention)]
        expected = plain_delta(means, stories, convention)
        assert found[["delta", "word_perplexity", "n"]].tolist() == pytest.approx(expected)
        assert found["delta_low"] < found["delta"] < found["delta_high"]


def plain_delta(means: pd.DataFrame, stories: dict[str, Any], convention: str) -> list[float]:
    """ΔLogLik, word perplexity and words of one convention, by loops and least squares."""
    order = ["10", "2"] if convention == "compat" else ["2", "10"]
    current = [value for story in ("2", "10") for one in stories[story] for value in one]
    lags = [
        [one[place - lag] if place >= lag else np.mean(current)
         for story in order for one in stories[story] for place in range(8)]
        for lag in (1, 2)
    ]  # fmt: skip
    time = means["time"].to_numpy()
    if convention.startswith("realigned"):  # each story's first word has no time then
        time = np.where(means["zone"] == 1, 0, np.append(0, time[:-1]))
    kept = (~means["is_first"] & ~means["is_last"] & (time > 0)).to_numpy()
    names = [f"{name}{lag}" for name in ("length", "log_gmean_freq")
             for lag in ("", "_prev_1", "_prev_2")]  # fmt: skip
    controls = np.column_stack([np.ones(len(means)), means[names]])
    n, likelihoods = kept.sum(), []
    known = [] if convention == "realigned_all" else lags
    for columns in (known, [current, *lags]):
        design = np.column_stack([controls, *columns])[kept]
        residual = time[kept] - design @ np.linalg.lstsq(design, time[kept], rcond=None)[0]
        likelihoods.append(-n / 2 * (np.log(2 * np.pi * residual @ residual / n) + 1))
    perplexity = np.exp(np.array(current)[kept].mean())
    return [likelihoods[1] - likelihoods[0], perplexity, n]
