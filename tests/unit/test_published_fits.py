"""Least squares, and the published fits to Natural Stories on a small text."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from lingprob.errors import LingprobError
from lingprob.figures.palette import describe_models
from lingprob.io.tables import write_table
from lingprob.papers.leakage.inverse_scaling import published_deltas, read_annotated_means
from lingprob.papers.leakage.reading_figures import inverse_scaling
from lingprob.papers.leakage.trends import size_trends
from lingprob.papers.run import Run
from lingprob.stats.least_squares import fit_least_squares

MODELS: dict[str, Any] = {
    name: {"title": name, "family": "f", "family_title": "F", "parameters": size}
    for name, size in (("one", 10**7), ("two", 10**9))
}


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
        ({"b": 3.0}, ["a", "b"], "regression: b is constant, or determined by .Intercept., a"),
        ({"b": 0.0}, ["a", "b"], "regression: b is constant, or determined by .Intercept., a"),
        ({}, ["a", "c"], "regression: c is constant, or determined by"),
        ({"y": [0.1] * 7 + [np.nan] * 13}, ["a"], "y, row 7: nan"),
        ({"y": np.inf}, ["a"], "y, row 0: inf"),
        ({}, ["a", "d"], "unknown column 'd'"),
    ],
)
def test_bad_least_squares_are_one_message(change, predictors, message):
    random = np.random.default_rng(1)
    frame = pd.DataFrame(random.normal(size=(20, 3)), columns=["a", "b", "y"])
    frame = frame.assign(c=2 * frame["a"] - 1).assign(**change)
    with pytest.raises(LingprobError, match=message):
        fit_least_squares(frame, "y", predictors)
    with pytest.raises(LingprobError, match="2 rows for 2 coefficients"):
        fit_least_squares(frame.iloc[:2].assign(y=1.0), "y", ["a"])


@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_exact_fits_are_refused_in_any_unit(size):
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=300)})
    exact = frame.assign(y=size * (2 * frame["x"] + 1))
    for response in (exact, frame.assign(y=0.1 * size), frame.assign(y=-0.1 * size)):
        with pytest.raises(LingprobError, match="explain 'y' without any error"):
            fit_least_squares(response, "y", ["x"])
    noise = np.random.default_rng(2).normal(size=300)
    fit = fit_least_squares(exact.assign(y=exact["y"] + 1e-6 * size * noise), "y", ["x"])
    assert fit.sigma == pytest.approx(1e-6 * size, rel=0.2)


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
                is_first = place == 0 and zone > 1  # words before the first have no time
                rows.append((story, zone, is_first, place == 7, sentence))
    means = pd.DataFrame(rows, columns=["article", "zone", "is_first", "is_last", "sent_id"])
    surprisal = np.concatenate([np.concatenate(stories[name]) for name in ("2", "10")])
    surprisal[0] = stories["2"][0][0] = surprisal[1:].mean()  # which replaces an unknown one
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
         "surprisal": np.append(np.nan, surprisal[1:]) / np.log(2)}
    ).sample(frac=1, random_state=1)  # fmt: skip
    fits, gains = published_deltas(
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
    write_table(gains, "reading_gains", tmp_path / "g.parquet")
    sums = gains.groupby(["model", "convention"])["nats"].sum()
    assert sums.to_dict() == pytest.approx(by_row["delta"].to_dict())
    check_trends(fits[fits["model"] == "one"], gains[gains["model"] == "one"])
    for convention in ("compat", "numeric_order", "realigned", "realigned_all"):
        found = by_row.loc[("one", convention)]
        expected = plain_delta(means, stories, convention)
        assert found[["delta", "word_perplexity", "n"]].tolist() == pytest.approx(expected)
        assert found["delta_low"] < found["delta"] < found["delta_high"]
    files, options = {"one": (tmp_path / "s.json", result)}, {"bootstrap": 1, "seed": 0}
    result.write_text("delta loglik: 1.5\n")
    with pytest.raises(LingprobError, match=r"r\.result: no .*perplexity"):
        published_deltas(read, files, {}, **options, scale="test")
    stories["2"][0].append(stories["2"][1].pop())
    (tmp_path / "s.json").write_text(json.dumps(stories))
    with pytest.raises(LingprobError, match=r"s\.json: its sentences are not those of the mean"):
        published_deltas(read, files, {}, **options, scale="test")


def check_trends(fits: pd.DataFrame, gains: pd.DataFrame) -> None:
    """Check slopes over three models that are alike: sentences are drawn, the same for all."""
    sizes = {name: {**MODELS["one"], "parameters": 10**n} for n, name in enumerate("abc", 7)}
    parts = [[table.assign(model=name) for name in sizes] for table in (fits, gains)]
    names = ["dataset", "rt_source", "context", "corrected", "scale", "model", "delta"]
    nothing = pd.DataFrame(columns=[*names, "word_perplexity"])
    found = size_trends(
        nothing, pd.concat(parts[1]), pd.concat(parts[0]), sizes, draws=50, seed=0
    )  # fmt: skip
    found = found[(found["on"] == "parameters") & (found["of"] == "delta")]
    assert found["convention"].tolist() == fits["convention"].tolist()
    assert found[["slope", "slope_low", "slope_high"]].to_numpy() == pytest.approx(0, abs=1e-6)
    assert set(found["items"]) == {70}
    assert set(found["resampled"]) == {"sentences"}
    # Lines have slopes per tenfold. A model that was not published is in none.
    many = [part.assign(delta=50.0 * n, word_perplexity=0.1**n) for n, part in enumerate(parts[0])]
    looks = describe_models(sizes | {"two": MODELS["two"]})
    figure = inverse_scaling(pd.concat([*many, many[0][1:].assign(model="two")]), Run("", looks))
    labels = ["Parameters\nF: +50 per tenfold"] * 4 + ["Word perplexity\nF: -50 per tenfold"] * 4
    assert [ax.get_xlabel() for ax in figure.axes] == labels
    assert figure.axes[0].collections[-1].get_offsets()[:, 1].tolist() == [1.5] * 3


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
