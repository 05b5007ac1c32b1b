"""Gains by surprisal against plain references, on small simulated data."""

from contextlib import nullcontext
from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import norm

from lingprob.catalog import read_published
from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.io.tables import read_table, write_table
from lingprob.papers.leakage.reading_claims import compare, reading_quantities
from lingprob.papers.leakage.reading_figures import draw
from lingprob.papers.leakage.regressions import (
    Study,
    compare_regressions,
    reading_counts,
    table_2,
    table_3,
)
from lingprob.papers.leakage.trends import STATE, size_trends
from lingprob.papers.run import Run
from lingprob.reading.predictors import regression_frame, standardised
from lingprob.stats.linear_mixed.fit import fit_mixed_models
from mixed_data import read

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
    place = np.arange(360)
    at = pd.DataFrame({"passage_id": "1", "word_index": place})
    lengths = random.integers(1, 9, len(place))
    words = at.assign(sentence_index=place // 6, word=["x" * length for length in lengths])
    true = random.exponential(6, len(place))
    surprisals = {}
    for noise, name in enumerate(MODELS):
        values = true + 4 * noise * random.normal(size=len(place))
        values[-1] = np.nan  # of a word in no regression
        both = {"surprisal": values, "surprisal_uncorrected": values + 0.1}
        surprisals[name] = at.assign(n_tokens=2, **both)
    before, inner = np.append(0, true[:-1]), np.isin(place % 6, [1, 2, 3, 4])
    names, parts = np.array(["fit", "fit", "exploratory", "held_out"]), []
    for subject in range(6):
        slope = random.normal(6, 2)
        rt = 300 + 30 * subject + slope * true + 3 * before + random.normal(0, 40, len(place))
        partition = np.where(inner, names[(subject + place // 6) % 4], None)
        parts.append(at.assign(subject_id=f"s{subject}", rt_ms=rt, partition=partition))
    times = pd.concat(parts, ignore_index=True).assign(
        previous_fixated=None, excluded=np.tile(np.where(inner, None, "sentence_boundary"), 6)
    )
    counts = pd.DataFrame({"word": ["x", "xx", "xxx"], "count": [50, 30, 9]})
    return {"words": words, "times": times, "surprisals": surprisals, "counts": [counts]}


def compared_of(entry: dict[str, Any], data: dict[str, Any], **options: Any) -> dict[str, Any]:
    study = Study("mine", {**ENTRY, **entry}, data["times"], data["words"], data["counts"],
                  data["surprisals"])  # fmt: skip
    return compare_regressions(study, **{**OPTIONS, **options})


def deltas_of(data: dict[str, Any], *, entry: Any = (), **options: Any) -> pd.DataFrame:
    return compared_of(dict(entry), data, **options)["delta_log_likelihood"]


@pytest.fixture(scope="module")
def compared(study: dict[str, Any]) -> dict[str, pd.DataFrame]:
    return compared_of({}, study)


@pytest.fixture(scope="module")
def deltas(compared: dict[str, pd.DataFrame]) -> pd.DataFrame:
    return compared["delta_log_likelihood"]


@pytest.fixture
def one_model(study: dict[str, Any]) -> dict[str, Any]:
    return {**study, "surprisals": {"small": study["surprisals"]["small"]}}


def run_of(models: Any) -> Run:
    return Run("test", describe_models(models), {"mine": "Mine"}, read_published("reading"))


def trends_of(table: pd.DataFrame, gains: pd.DataFrame, models: Any) -> pd.DataFrame:
    return size_trends(table, gains, None, models, draws=200, seed=0)


def standardised_frame(data: dict[str, Any], model: int) -> tuple[Any, Any, Any]:
    """Return the rows to fit, those to evaluate, and the Predictors of a model."""
    counts = data["words"]["word"].map({"x": 50, "xx": 30, "xxx": 9}).fillna(0)
    unigrams = -np.log2((counts + 1) / 93)
    frame, models = regression_frame(data["times"], data["words"], unigrams, data["surprisals"])
    frame = standardised(frame, models[model].all)
    fitted, other = (frame[frame["partition"] == name] for name in ("fit", "exploratory"))
    return fitted, other, models[model]


def test_two_previous_words_in_the_regressions(study, deltas):
    table = deltas_of(study, previous_words=2)
    formula = table["formula"][0]
    assert "~ surprisal + previous_surprisal + previous_2_surprisal + unigram" in formula
    assert "(1 + surprisal + previous_surprisal + length" in formula
    assert table["delta"][0] > deltas["delta"][0] - 5


def test_delta_is_that_of_two_held_out_densities(study, deltas):
    fitted, other, _ = standardised_frame(study, 0)
    full = (
        "rt_ms ~ surprisal_of_small + previous_surprisal_of_small + unigram_surprisal + length"
        " + index + "
        "(1 + surprisal_of_small + previous_surprisal_of_small + length + index | subject_id)"
    )
    baseline = "rt_ms ~ unigram_surprisal + length + index + (1 + length + index | subject_id)"
    data = read(fitted, [full, baseline])
    fits = fit_mixed_models(data, [full, baseline])
    sums = [fit.held_out_log_likelihoods(other.assign(item=1), "item").sum() for fit in fits]
    columns = ["log_likelihood", "log_likelihood_baseline", "delta", "surprisal_ms", "n_fit"]
    row = deltas.set_index("model").loc["small", columns]
    effect = fits[0].fixed_effects["surprisal_of_small"]
    expected = [*sums, sums[0] - sums[1], effect, 6 * 30 * 4]
    assert row.tolist() == pytest.approx(expected, abs=1e-5)
    # Better surprisals add more.
    assert deltas["model"].tolist() == ["small", "medium", "large"]
    assert deltas["delta"].is_monotonic_decreasing
    assert deltas["delta_low"].gt(0).all()
    assert deltas["delta"].between(deltas["delta_low"], deltas["delta_high"]).all()


def test_means_are_regressed_by_least_squares(study):
    one = {**study, "times": study["times"][study["times"]["subject_id"] == "s0"]}
    tables = compared_of({"unit": "word"}, one)
    found, gains = tables["delta_log_likelihood"], tables["reading_gains"]
    fitted, other, large = standardised_frame(one, 2)
    values = []
    for names in (large.baseline, large.all):
        result = sm.OLS(fitted["rt_ms"], sm.add_constant(fitted[list(names)])).fit()
        expected = result.predict(sm.add_constant(other[list(names)]))
        sigma = np.sqrt((result.resid**2).mean())
        values.append(norm(expected, sigma).logpdf(other["rt_ms"]).sum())
    assert found["regression"].unique().tolist() == ["least squares"]
    assert (found["converged"].all(), found["singular"].any()) == (True, False)
    assert found["delta"].iloc[2] == pytest.approx(values[1] - values[0], abs=1e-8)
    for name, columns in (
        (large.surprisal, ["surprisal_ms", "surprisal_std_error"]),
        (large.previous[0], ["previous_ms", "previous_std_error"]),
    ):
        expected = [result.params[name], result.bse[name]]
        assert found[columns].iloc[2].tolist() == pytest.approx(expected)
    by_sentence = gains[(gains["model"] == "large") & (gains["of"] == "delta")]
    assert by_sentence["nats"].sum() == pytest.approx(values[1] - values[0], abs=1e-8)
    assert len(by_sentence) == 15
    assert set(by_sentence["subject"]) == {"s0"}
    # Surprisals of trailing spaces are 0.1 bits apart in every word.
    bits = study["surprisals"]["small"]["surprisal"]
    assert found["word_perplexity"].iloc[0] == pytest.approx(2 ** bits.mean())
    tables = compared_of({"unit": "word"}, one, corrected=False)
    found, gains = tables["delta_log_likelihood"], tables["reading_gains"]
    assert found["word_perplexity"].iloc[0] == pytest.approx(2 ** (bits.mean() + 0.1))
    (row,) = gains[(gains["model"] == "small") & (gains["of"] == "log_perplexity")].itertuples()
    assert (row.nats, row.n) == (pytest.approx(np.log(2) * (bits + 0.1).sum()), bits.count())
    assert found["token_perplexity"].iloc[0] == pytest.approx(2 ** ((bits.mean() + 0.1) / 2))


def with_slopes(study: Any, random: np.random.Generator, sizes: Any, noise: float) -> Any:
    """Give readers intercepts and slopes of surprisal and of word length."""
    subjects = study["times"]["subject_id"].unique()
    slopes = pd.DataFrame(random.normal(0, 1, (6, 3)) * sizes, subjects)
    words = study["words"].assign(true=study["surprisals"]["small"]["surprisal"])
    times = study["times"].merge(words, on=["passage_id", "word_index"])
    by = times.assign(one=1.0, length=times["word"].str.len())[["one", "true", "length"]]
    own = (slopes.loc[times["subject_id"]].to_numpy() * by.to_numpy(float)).sum(axis=1)
    times["rt_ms"] = 300 + 6 * times["true"] + own + random.normal(0, noise, len(times))
    return {**study, "times": times[study["times"].columns]}


@pytest.mark.parametrize(("of_length", "kept"), [(9, True), (0.4, False)])
def test_reduced_structures_come_from_the_maximal_one(one_model, of_length, kept):
    """Slopes of length between readers, in milliseconds, above or below the noise of the baseline.

    Surprisal explains that noise: the models with it have the smaller slopes too, but the baseline
    is singular with them, and all models have to converge.
    """
    random = np.random.default_rng(8)
    changed = with_slopes(one_model, random, (30, 2, of_length), 2)
    found = deltas_of(changed, random_effects="reduced")
    length = " + length" if kept else ""
    assert found["formula"].unique().tolist() == [
        "rt_ms ~ surprisal + previous_surprisal + unigram_surprisal + length + index + "
        f"(1 + surprisal{length} | subject_id)"
    ]
    baseline = f"rt_ms ~ unigram_surprisal + length + index + (1{length} | subject_id)"
    assert found["baseline_formula"].unique().tolist() == [baseline]
    assert found["converged"].all()
    assert not found["singular"].any()


@pytest.mark.parametrize("empty", ["fit", "exploratory", "held_out"])
def test_a_needed_partition_is_not_empty(study, empty):
    times = study["times"][study["times"]["subject_id"] == "s0"]
    times = times[times["partition"] != empty]
    said = pytest.raises(LingprobError, match="'fit' or 'exploratory' is empty")
    with nullcontext() if empty == "held_out" else said:
        assert len(deltas_of({**study, "times": times}, entry={"unit": "word"})) == 3


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (lambda table: 3.0, "predictor 'surprisal_of_medium' is 3 in every row"),
        (lambda table: table["surprisal"].where(table.index != 7, np.inf),
         "model 'medium': the surprisal of word 7 of passage '1' is infinite, as of 1 words"),
        (lambda table: np.inf, "model 'medium': .* word 0 of passage '1' .* as of 360 words"),
        (lambda table: table.index % 6 + 1.0, "is determined by surprisal_of_medium"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("error")
def test_faulty_surprisals_name_their_model(study, values, message):
    table = study["surprisals"]["medium"]
    surprisals = {**study["surprisals"], "medium": table.assign(surprisal=values(table))}
    with pytest.raises(LingprobError, match=message):
        deltas_of({**study, "surprisals": surprisals})


def test_tables_figures_and_scorecard_of_a_small_study(study, compared, tmp_path):
    deltas, gains = compared["delta_log_likelihood"], compared["reading_gains"]
    labelled = deltas.assign(rt_source="simulated")
    counts = reading_counts("mine", {"rt_source": "simulated"}, study["times"], "test")
    write_table(labelled, "delta_log_likelihood", tmp_path / "d.parquet")
    write_table(counts, "reading_counts", tmp_path / "c.parquet")
    fates = ["sentence_boundary", "fit", "exploratory", "held_out"]
    assert table_2(counts).loc[0, fates].tolist() == [720, 720, 360, 360]
    assert len(table_3(pd.concat([labelled, deltas]))) == 2  # of human and of simulated times
    trends = trends_of(labelled, gains, MODELS)
    write_table(gains, "reading_gains", tmp_path / "g.parquet")
    write_table(trends, "reading_trends", tmp_path / "t.parquet")
    assert trends.set_index(["of", "on"]).loc[("delta", "parameters"), "slope"] < 0
    run = run_of(MODELS)
    tables = {"delta_log_likelihood": labelled, "reading_trends": trends, "reading_counts": counts}
    card = compare(tables, run)
    write_table(card, "scorecard", tmp_path / "s.parquet")
    assert set(card["kind"]) == {"claim", "number"}
    claims = card[card["row"].str.contains("mine")].set_index(["column", "row"])
    adds = claims.loc["surprisal_predicts_reading_times"]
    assert adds["verdict"].tolist() == ["supported"] * 3
    notes = ["singular fit; " * singular for singular in deltas["singular"]]
    assert adds["note"].str.split("simulated reading times").str[0].tolist() == notes
    falls = claims.loc[("fit_falls_with_size_of_pretrained_models", "mine/f, passage context")]
    assert falls["verdict"] == "supported"
    assert falls["note"].startswith("3 models, 6 subjects and sentences; simulated reading times")
    # The interval of a table is the one that a claim is judged by.
    ends = trends.set_index(["of", "on"]).loc[("delta", "parameters"), ["slope_low", "slope_high"]]
    assert falls[["low", "high"]].tolist() == ends.tolist()
    ours = deltas[["delta", "delta_low", "delta_high"]]
    assert adds[["ours", "low", "high"]].to_numpy().tolist() == ours.to_numpy().tolist()
    half = claims.loc[("exploratory_partition_is_half_the_fit_partition", "mine")]
    assert (half["ours"], half["verdict"]) == (0.5, "supported")
    figure = draw({"delta_log_likelihood": labelled}, run)["figure_2"]
    assert "SIMULATED READING TIMES" in figure._supxlabel.get_text()


def many(deltas: pd.DataFrame, sizes: dict[str, int | None]) -> tuple[pd.DataFrame, dict]:
    """As many models, with ΔLogLik 30, 20, 10, ..., and their catalog entries."""
    rows = [deltas.iloc[[0]].assign(model=name, delta=30.0 - 10 * n, delta_low=0.0, delta_high=40.0)
            for n, name in enumerate(sizes)]  # fmt: skip
    models = {name: {**MODELS["small"], "title": name, "parameters": sizes[name]} for name in sizes}
    return pd.concat(rows, ignore_index=True).assign(rt_source="human"), models


def test_trends_keep_contexts_and_corrections_apart(compared, tmp_path):
    """Three models each: finished, imported by sentence or uncorrected, and unfinished."""
    table, models = many(compared["delta_log_likelihood"], {"a": 10**7, "b": 10**8, "c": 10**9})
    others = [{"context": "sentence"}, {"corrected": False}, {"corrected": None},
              {"context": "imported"}]  # fmt: skip
    unfinished = {f"{name}-4": {**entry, "training_step": 4} for name, entry in models.items()}
    others.append({"model": [*unfinished]})
    table = pd.concat([table, *(table.assign(**change) for change in others)], ignore_index=True)
    write_table(table, "delta_log_likelihood", tmp_path / "d.parquet")
    read = read_table(tmp_path / "d.parquet", "delta_log_likelihood")
    found = trends_of(read, compared["reading_gains"][:0], models | unfinished)
    sizes = found[(found["of"] == "delta") & (found["on"] == "parameters")]
    assert sizes["models"].tolist() == [3] * 6
    assert sizes["slope"].to_numpy() == pytest.approx([-10] * 6)
    assert sorted(map(str, sizes["corrected"])) == ["False", "None", *["True"] * 4]


def test_unknown_sizes_are_in_no_trend(study, deltas, compared, tmp_path):
    """But a figure names them."""
    table, models = many(deltas, {"a": 10**7, "b": 10**8, "c": 10**9, "mystery": None})
    table["word_perplexity"] = [40.0, 30.0, 20.0, 10.0]
    trends = trends_of(table, compared["reading_gains"][:0], models)
    found = trends[trends["of"] == "delta"].set_index("on")
    assert found.loc["parameters", ["models", "slope"]].tolist() == [3, pytest.approx(-10)]
    assert found.loc["word_perplexity", "models"] == 4
    run, counts = run_of(models), reading_counts("mine", ENTRY, study["times"], "test")
    tables = {"delta_log_likelihood": table, "reading_trends": trends, "reading_counts": counts}
    card = compare(tables, run)
    (note,) = card.loc[card["column"] == "fit_falls_with_size_of_pretrained_models", "note"]
    assert note == "3 models"
    other = table.assign(dataset="other", delta=table["delta"] + 1, singular=table.index == 1)
    table = pd.concat([table.assign(singular=False), other]).assign(scale="test")
    figure = draw({"delta_log_likelihood": table}, run)["figure_2"]
    figure.savefig(tmp_path / "a.png")
    shown = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "of unknown size: mystery" in shown
    lines = [ax.lines[0].get_ydata().tolist() for ax in figure.axes]
    assert lines == [[30, 20, 10], [31, 21, 11], *[[40, 30, 20]] * 2]
    crosses = [line.get_xydata().tolist() for ax in figure.axes for line in ax.lines
               if line.get_marker() == "x"]  # fmt: skip
    assert crosses == [[], [[10**8, 21]]]


def test_table_2_has_the_partitions_last():
    counts = pd.DataFrame(
        [("b", "fit", 5), ("b", "too_fast", 2), ("b", "held_out", 3), ("a", "exploratory", 4),
         ("a", "blink", 1)],
        columns=["dataset", "fate", "rows"],
    ).assign(rt_source="human")  # fmt: skip
    found = table_2(counts)
    fates = ["too_fast", "blink", "fit", "exploratory", "held_out"]
    assert found.columns.tolist() == ["dataset", "rt_source", *fates]
    assert found.to_numpy().tolist() == [
        ["b", "human", 2, 0, 5, 0, 3],
        ["a", "human", 0, 1, 0, 4, 0],
    ]


def test_numbers_of_reading_are_counts_and_fits():
    counts = pd.DataFrame({"dataset": "d", "fate": ["fit", "blink"], "rows": [30, 4]})
    fits = pd.DataFrame(
        [("m", "compat", "as published", 3.5, 20.25, 90), ("m", "realigned", "mended", 9, 9, 80)],
        columns=["model", "convention", "description", "delta", "word_perplexity", "n"],
    )
    alone = {("d", "fit"): 30, ("d", "blink"): 4}
    both = alone | {("m", "delta"): 3.5, ("m", "perplexity"): 20.25, ("m", "n"): 90}
    for given, expected in ((None, alone), (fits, both)):
        found = reading_quantities(counts, given)
        assert {place: one.value for place, one in found.items()} == expected
        assert all(one.low == one.value == one.high for one in found.values())
    assert found["m", "delta"].note == "as published"


# Intervals, conditions and cross-validation.


def test_gains_and_effects_sum_and_agree(study, compared):
    """Shuffled times give the same parts by subject and sentence, and the table's effects."""
    deltas, gains = compared["delta_log_likelihood"].set_index("model"), compared["reading_gains"]
    added = gains[gains["of"] == "delta"].groupby("model")["nats"].agg(["sum", "size"])
    assert added["sum"].to_dict() == pytest.approx(deltas["delta"].to_dict())
    assert set(added["size"]) == {6 * 15}
    parts = gains[gains["of"] == "log_perplexity"].groupby("model")[["nats", "n"]].sum()
    logarithms = np.log(deltas["word_perplexity"]).to_dict()
    assert (parts["nats"] / parts["n"]).to_dict() == pytest.approx(logarithms)
    effects = compared["reading_effects"].set_index(["model", "term"])
    assert effects.loc["medium"].index.tolist() == [
        "(Intercept)", "surprisal", "previous_surprisal", "unigram_surprisal", "length", "index"
    ]  # fmt: skip
    row, columns = effects.loc[("medium", "surprisal")], ["surprisal_ms", "surprisal_std_error"]
    assert [row["ms"], row["std_error"]] == deltas.loc["medium", columns].tolist()
    assert row["ms_high"] - row["ms"] == pytest.approx(1.96 * row["std_error"])
    shuffled = {**study, "times": study["times"].sample(frac=1, random_state=2)}
    again = compared_of({}, shuffled)["reading_gains"]
    keys = ["model", "of", "subject", "item"]
    both = gains.merge(again, on=keys, validate="one_to_one")
    assert both["nats_x"].to_numpy() == pytest.approx(both["nats_y"].to_numpy(), abs=1e-6)


def test_intervals_of_deltas_have_their_seed_and_draws(one_model, deltas):
    lows = [
        deltas_of(one_model, **options)["delta_low"].item()
        for options in ({}, {"seed": 2}, {"bootstrap": 51})
    ]
    assert lows[0] == deltas["delta_low"][0]
    assert len(set(lows)) == 3


def test_another_partition_keeps_the_fitted_scale(study, deltas):
    """Predictors are standardised by the rows that are fitted, whichever are evaluated."""
    found = deltas_of(study, partition="held_out").set_index("model")
    assert (found["delta"] > 0)["small"]
    same = ["surprisal_ms", "surprisal_std_error", "previous_ms", "n_fit"]
    pd.testing.assert_frame_equal(found[same], deltas.set_index("model")[same])
    assert set(found["n_evaluated"]) == {6 * 15 * 4}


def test_cross_validation_by_hand(study, one_model):
    """Subjects s0 and s5 are in one of five folds. Each fold is standardised by the others."""
    whole, total = deltas_of(one_model, partition="subjects").iloc[0], 0.0
    for fold in range(5):
        left_out = study["times"]["subject_id"].str[1].astype(int) % 5 == fold
        parts = np.where(left_out, "exploratory", "fit")
        kept = study["times"]["excluded"].isna()
        times = study["times"].assign(partition=np.where(kept, parts, None))
        total += deltas_of({**one_model, "times": times})["delta"].item()
    assert whole["delta"] == pytest.approx(total, abs=1e-6)
    assert whole["n_fit"] == whole["n_evaluated"] == 6 * 60 * 4
    # Means are left out by sentence.
    means = {**one_model, "times": study["times"][study["times"]["subject_id"] == "s0"]}
    row = deltas_of(means, entry={"unit": "word"}, partition="subjects").iloc[0]
    assert row["n_evaluated"] == 60 * 4


@pytest.mark.parametrize("fault", [{"converged": False}, {"smallest_eigenvalue": 0.0}])
@pytest.mark.parametrize("regression", ["baseline", "small"])
@pytest.mark.parametrize(
    ("partition", "faulty"), [("exploratory", 0), ("subjects", 0), ("subjects", 3)]
)
def test_one_faulty_fit_marks_a_comparison(
    one_model, monkeypatch, caplog, partition, faulty, regression, fault
):
    """With subjects left out, the first fits are those to all rows, and the fourth of a fold."""
    number, at = count(), ["baseline", "small"].index(regression)

    def fit(data, formulas):
        fits = fit_mixed_models(data, formulas)
        fits = [replace(one, converged=True, smallest_eigenvalue=1.0) for one in fits]
        fits[at] = replace(fits[at], **fault if next(number) == faulty else {})
        return fits

    monkeypatch.setattr("lingprob.papers.leakage.regressions.fit_mixed_models", fit)
    with caplog.at_level("WARNING"):
        row = deltas_of(one_model, partition=partition).iloc[0]
    assert row["converged"] == row["singular"] == ("converged" not in fault)
    assert [one.message.partition(": ")[0] for one in caplog.records] == [regression]


def test_conditions_are_a_factor_only_on_request(study):
    """Sentences in two conditions, the second of which takes 80 ms more."""
    times = study["times"].merge(study["words"], on=["passage_id", "word_index"])
    late = times["sentence_index"] // 3 % 2 == 1
    times = times.assign(
        condition=np.where(late, "late", "early"), rt_ms=times["rt_ms"] + 80 * late
    )
    changed = {**study, "times": times[[*study["times"].columns, "condition"]]}
    without = compared_of({"method": "eye_tracking"}, changed)["delta_log_likelihood"]
    assert without["formula"][0].endswith("h + index + (1 + surprisal + index | subject_id)")
    tables = compared_of({"factors": ["condition"]}, changed)
    formula = tables["delta_log_likelihood"]["formula"][0]
    assert formula.startswith(
        "rt_ms ~ surprisal + previous_surprisal + unigram_surprisal + length + index"
        " + condition_early + (1 + surprisal"
    )
    effects = tables["reading_effects"].set_index(["model", "term"])
    assert effects.loc[("small", "condition_early"), "ms"] == pytest.approx(-40, abs=6)
    for condition in (None, "late"):
        changed["times"] = times.assign(condition=condition)
        with pytest.raises(LingprobError, match=f"two or more conditions.*{condition}"):
            compared_of({"factors": ["condition"]}, changed)


def test_too_few_readers_get_a_remedy(study):
    times = study["times"]
    for readers, options in ((["s3"], {}), (["s3", "s4"], {"partition": "subjects"})):
        few = {**study, "times": times[times["subject_id"].isin(readers)]}
        said = rf"'mine': too few readers .{len(readers)}, such as 's3'.* `unit: word`"
        with pytest.raises(LingprobError, match=said):
            deltas_of(few, **options)


STATES = {
    f"{size}{state}": {**MODELS[size], "fine_tuning_steps": steps}
    for size in MODELS
    for state, steps in (("-ft5", 5), ("", 0))
}


def trends_by_state(
    deltas: pd.DataFrame, values: dict[str, np.ndarray], **how: Any
) -> pd.DataFrame:
    """Return trends of gains (subjects, sentences) by model, whose rows are shuffled."""
    models, gains = [], []
    for name, cells in values.items():
        models.append(deltas.iloc[[0]].assign(dataset="made", model=name, delta=cells.sum()))
        for (s, i), value in np.ndenumerate(cells):
            gains.append(("made", "", name, "delta", f"s{7 * s}", str(3 * i), value, 1))
    columns = ["dataset", "convention", "model", "of", "subject", "item", "nats", "n"]
    table = pd.DataFrame(gains, columns=columns).sample(frac=1, random_state=0)
    options = {"draws": 2000, "seed": 1, **how}
    found = size_trends(pd.concat(models), table, None, STATES, **options)
    return found[(found["of"] == "delta") & (found["on"] == "parameters")].set_index(STATE)


def made(base: float, by_state: tuple[float, float], noise: Any) -> dict[str, np.ndarray]:
    """Cells of models whose sum falls by so much per tenfold in each state."""
    found = {}
    for name, entry in STATES.items():
        per_tenfold, cells = by_state[entry["fine_tuning_steps"] > 0], noise(name)
        total = base - per_tenfold * np.log10(entry["parameters"] / 1e7)
        found[name] = total / cells.size + cells - cells.mean()
    return found


def test_trends_draw_the_same_units_for_all_models(deltas):
    """Readers and sentences that are alike for all models leave slopes without uncertainty."""
    random = np.random.default_rng(3)
    alike = 40 * (random.normal(size=(6, 1)) + random.normal(size=(1, 30)))
    found = trends_by_state(deltas, made(20, (1.0, 3.0), lambda _: alike))
    assert found["slope"].tolist() == pytest.approx([-1.0, -3.0])
    assert found.loc[5, ["change", "change_low", "change_high"]].tolist() == pytest.approx([-2] * 3)
    assert found["slope_low"].tolist() == pytest.approx([-1.0, -3.0])
    assert set(found["resampled"]) == {"subjects and sentences"}
    assert set(found["items"]) == {6}
    assert set(found["largest"]) == {1e9}


def test_trends_draw_both_samples_by_seed(deltas):
    """Models differ in their gains of readers alone, or of sentences alone."""
    random = np.random.default_rng(5)
    for shape in ((8, 1), (1, 40)):
        noise = {name: random.normal(size=shape) + np.zeros((8, 40)) for name in STATES}
        first, second = (
            trends_by_state(deltas, made(9, (0, 0), noise.get), draws=100, seed=seed)["slope_low"]
            for seed in (1, 2)
        )
        assert not np.allclose(first, second)
