"""MORCELA beyond the paper: what is left out, transfer, curves and single judgments."""

from __future__ import annotations

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from judgments_for_tests import OPTIONS, data_set, judgments
from lingprob.catalog import Catalog
from lingprob.figures.palette import describe_models
from lingprob.papers.contract import Run
from lingprob.papers.morcela.beyond import (
    _table,
    ordinal_of_model,
    rated_rows,
    shapes_of_model,
    validate_model,
)
from lingprob.papers.morcela.beyond_figures import draw_beyond
from lingprob.papers.morcela.beyond_pages import residuals_by_phenomenon, tabulate_beyond
from lingprob.papers.morcela.predictions import predict_ratings
from lingprob.papers.morcela.rated import DataSet, under
from lingprob.papers.morcela.transfer import transfer
from lingprob.regression.held_out import Scheme, _mean_r, _sums, schemes, validate
from lingprob.regression.linking_predictions import fit_predictor, held_out, sentences
from lingprob.regression.linking_shapes import splines
from lingprob.regression.rating_scale import middle
from lingprob.regression.resampling import fold_numbers, resamples
from lingprob.tables import write_table

MODEL = "smollm2-135m"
CONVENTION = OPTIONS["convention"]
FITTING = {"cluster": "sentence", "folds": 5, "repeats": 2, "bootstrap": 40, "seed": 1}
PROVENANCE = {"model": MODEL, "bos": "bos", "unigrams": "u", "scale": "demo"}


def described(given: DataSet) -> DataSet:
    """The same sentences in ten phenomena, with labels."""
    items = given.stimuli
    phenomenon = [f"phenomenon {row % 10}" for row in range(len(items))]
    good = items["rating"].fillna(0) > items["rating"].fillna(0).median()
    return given._replace(
        stimuli=items.assign(phenomenon=phenomenon, paradigm=None, grammatical=good)
    )


@pytest.fixture(scope="module")
def rated() -> DataSet:
    return described(data_set("a", 200, 11))


def plain_sentences(n: int = 60, seed: int = 3):
    random = np.random.default_rng(seed)
    p, u, length = random.normal(-40, 8, n), random.normal(-80, 8, n), random.integers(4, 20, n)
    return sentences("morcela", p, u, length, p / length + 4 + random.normal(size=n))


def test_measures_of_what_was_left_out_are_those_of_a_plain_loop():
    data = plain_sentences()
    folds = np.array([np.arange(60) % 4, np.arange(60) // 15])
    found = validate(data, Scheme("two", folds), draws=20, seed=1)
    r, sums, mean = [], np.zeros(4), np.zeros(60)
    for fold in folds:
        predicted = np.empty(60)
        for number in range(4):
            out = fold == number
            slopes, *_ = np.linalg.lstsq(data.design[~out], data.rating[~out])
            predicted[out] = data.design[out] @ slopes
            r.append(np.corrcoef(predicted[out], data.rating[out])[0, 1])
        bad, called = data.rating <= 0, predicted <= 0
        sums += [(bad & called).sum(), (~bad & called).sum(), (bad & ~called).sum(),
                 (~bad & ~called).sum()]  # fmt: skip
        mean += predicted / 2
    hits, alarms, misses, rejections = sums
    assert min(sums) > 0
    assert found["r"] == pytest.approx(np.mean(r))
    assert found["r_pooled"] == pytest.approx(np.corrcoef(mean, data.rating)[0, 1])
    assert found["accuracy"] == pytest.approx((hits + rejections) / 120)
    assert found["precision"] == pytest.approx(hits / (hits + alarms))
    assert found["recall"] == pytest.approx(hits / (hits + misses))
    assert found["f1"] == pytest.approx(2 * hits / (2 * hits + alarms + misses))
    assert found["n_folds"] == 4
    assert found["r_pooled_low"] < found["r_pooled"] < found["r_pooled_high"]


def test_ratings_of_1_to_7_are_acceptable_above_their_mean():
    """Ratings about 0 and the same about 30 share all measures; none of these has a one-sided
    table of right and wrong."""
    data = plain_sentences()
    about_zero = data._replace(rating=data.rating - data.rating.mean())
    scheme = Scheme("two", np.array([np.arange(60) % 4, np.arange(60) // 15]))
    of_scores = validate(about_zero, scheme, draws=20, seed=1)
    above = validate(about_zero._replace(rating=about_zero.rating + 30), scheme, draws=20, seed=1)
    assert 0 < of_scores["accuracy"] < 1
    for name in ("r", "r_pooled", "accuracy", "precision", "recall", "f1", "accuracy_low"):
        assert above[name] == pytest.approx(of_scores[name]), name
    assert middle(np.array([-1.0, -1, 2])) == 0
    assert middle(np.array([1.0, 2, 6])) == middle(np.array([0.0, 3, 6])) == 3


def test_transfer_to_and_from_ratings_of_1_to_7_is_judged_by_each_ones_middle(rated):
    """Own ratings, and the same 30 higher: their fits and their answers are alike."""
    of_rating = rated.stimuli["rating"] - rated.stimuli["rating"].mean()
    about_zero, above = (
        rated._replace(stimuli=rated.stimuli.assign(rating=of_rating + shift)) for shift in (0, 30)
    )
    table = transfer(MODEL, {"zero": about_zero, "above": above}, **OPTIONS, draws=20, seed=1)
    table = table[table["linking_function"] == "morcela"].set_index(["fitted_to", "applied_to"])
    for measure in ("r", "accuracy", "area"):
        for fitted_to in ("zero", "above"):
            row = table.loc[fitted_to, measure]
            assert row["zero"] == pytest.approx(row["above"], abs=0.02)
            assert 0.5 < row["zero"] < 1


def test_intervals_of_measures_are_of_resampled_units():
    data = plain_sentences()._replace(unit=np.arange(60) // 3)
    scheme = Scheme("two", np.array([np.arange(60) % 4, np.arange(60) // 15]))
    found = validate(data, scheme, draws=25, seed=2)
    predicted = np.array([held_out(data, fold) for fold in scheme.folds])
    drawn = []
    for counts in np.concatenate(list(resamples(20, 25, 2))):
        rows = np.repeat(np.arange(60), counts[data.unit])
        right = (predicted[:, rows] <= 0) == (data.rating[rows] <= 0)
        r = np.corrcoef(predicted.mean(axis=0)[rows], data.rating[rows])[0, 1]
        drawn.append([r, right.mean()])
    low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
    for place, name in enumerate(("r_pooled", "accuracy")):
        assert found[f"{name}_low"] == pytest.approx(low[place])
        assert found[f"{name}_high"] == pytest.approx(high[place])


def test_folds_count_that_have_three_sentences_and_vary():
    predicted = np.array([1.0, 2, 1, 2, 3, 1, 2, 3, 4, 5, 5, 5, 5, 1, 2, 3, 4])
    rating = np.array([1.0, 2, 1, 3, 2, 5, 5, 5, 5, 1, 2, 3, 4, 4, 3, 2, 1])
    fold = np.repeat([0, 1, 2, 3, 4], [2, 3, 4, 4, 4])
    assert _mean_r(predicted, rating, fold) == pytest.approx((0.5 - 1) / 2)


def test_what_measures_are_made_of_by_hand():
    """Neither a rating nor a prediction of 0 is above 0."""
    predictions = np.array([[0.0, 1.0, -1.0, 2.0], [0.0, -1.0, 2.0, 3.0]])
    rating = np.array([0.0, 0.5, -1.0, 0.25])
    mean = [0.0, 0.0, 0.5, 2.5]
    found = _sums(np.array(mean), predictions, rating)
    assert found.tolist() == [
        [1, 0, 0, 0, 0, 0, 1, 0, 0, 0],
        [1, 0, 0.5, 0, 0.25, 0, 0, 0.5, 0, 0.5],
        [1, 0.5, -1, 0.25, 1, -0.5, 0.5, 0, 0.5, 0],
        [1, 2.5, 0.25, 6.25, 0.0625, 0.625, 0, 0, 0, 1],
    ]


def test_phenomena_are_left_out_where_there_are_two():
    named = pd.Series(["a", "b", "a", "c"] * 15)
    shuffled, phenomena = schemes(60, named, folds=5, repeats=3, seed=1)
    expected = fold_numbers(60, 5, 3, np.random.default_rng([1, 0]))
    np.testing.assert_array_equal(shuffled.folds, expected)
    assert len(schemes(60, None, folds=5, repeats=3, seed=1)) == 1
    assert phenomena.folds.tolist() == [[0, 1, 0, 2] * 15]
    assert len(schemes(60, named.where(named != "b"), folds=5, repeats=3, seed=1)) == 1
    assert len(schemes(60, pd.Series(["a"] * 60), folds=5, repeats=3, seed=1)) == 1
    assert len(schemes(60, pd.Series(["a", "b"] * 30), folds=5, repeats=3, seed=1)) == 2


def test_every_function_is_validated_and_curves_are_fitted(rated, tmp_path):
    rows = rated_rows(MODEL, {"own": rated}, CONVENTION)
    validation = validate_model(rows, **FITTING, **PROVENANCE)
    assert len(validation) == 12
    assert validation["n_folds"].unique().tolist() == [5, 10]
    write_table(validation, "linking_validation", tmp_path / "v.parquet")
    shapes, curves = shapes_of_model(rows, **FITTING, **PROVENANCE)
    write_table(shapes, "linking_shapes", tmp_path / "s.parquet")
    write_table(curves, "linking_curves", tmp_path / "c.parquet")
    power = shapes.set_index("shape").loc["length exponent"]
    assert power["alpha_low"] < 1 < power["alpha_high"]
    # Ratings were linear in u/l and 1/l: MORCELA's lines are within the curves' intervals.
    inside = curves["linear"].between(curves["effect_low"], curves["effect_high"])
    assert inside.mean() > 0.8
    slope = fit_predictor(
        sentences(
            "morcela",
            *(rows["own"][key] for key in ("logprob", "unigram_logprob", "n_tokens", "rating")),
        )
    ).coefficients
    assert curves.groupby("term")["linear"].mean().to_numpy() == pytest.approx([0, 0], abs=1e-9)
    u = curves[curves["term"] == "u/l"]
    assert np.polyfit(u["value"], u["linear"], 1)[0] == pytest.approx(slope[2])
    length = curves[curves["term"] == "l"]
    assert np.polyfit(1 / length["value"], length["linear"], 1)[0] == pytest.approx(slope[3])


def test_shapes_are_compared_by_r_of_the_same_folds_and_by_their_errors(rated):
    rows = rated_rows(MODEL, {"own": rated}, CONVENTION)
    by = validate_model(rows, **FITTING, **PROVENANCE).set_index(["linking_function", "scheme"])
    shapes, _ = shapes_of_model(rows, **FITTING, **PROVENANCE)
    shapes = shapes.set_index("shape")
    sample = rows["own"]
    keys = ["logprob", "unigram_logprob", "n_tokens"]
    straight = sentences("morcela", *(sample[key] for key in keys), sample["rating"])
    predictor = fit_predictor(straight)
    residual = straight.rating - straight.design @ predictor.coefficients
    morcela = shapes.loc["MORCELA"]
    assert morcela["sse"] == pytest.approx(residual @ residual)
    assert morcela["r_cv"] == pytest.approx(by.loc[("morcela", "5 shuffled folds"), "r"])
    shown = predictor.parameters()
    assert morcela[list(shown)].to_dict() == pytest.approx(shown)
    assert np.isnan(shapes.loc["length exponent", "r_cv"])
    curved = splines(*(sample[key] for key in keys), sample["rating"])
    plan = schemes(200, None, folds=5, repeats=2, seed=1)[0]
    spline = shapes.loc["splines"]
    assert spline["sse"] == pytest.approx(curved.sse)
    assert spline["r_cv"] == pytest.approx(validate(curved.data, plan, draws=2, seed=0)["r"])
    for shape, predictors in (("MORCELA", 4), ("length exponent", 5),
                              ("splines", curved.data.design.shape[1])):  # fmt: skip
        row = shapes.loc[shape]
        fit = 200 * np.log(row["sse"] / 200)
        assert (row["predictors"], row["n"]) == (predictors, 200)
        assert row["aic"] == pytest.approx(fit + 2 * predictors)
        assert row["bic"] == pytest.approx(fit + predictors * np.log(200))


def test_sentences_of_few_lengths_have_no_curves_and_stop_nothing(rated):
    rows = rated_rows(MODEL, {"own": rated}, CONVENTION)
    few = {"few": rows["own"].assign(n_tokens=rows["own"]["n_tokens"] // 10 + 4), **rows}
    shapes, curves = shapes_of_model(few, **FITTING, **PROVENANCE)
    assert set(shapes["dataset"]) == set(curves["dataset"]) == {"own"}
    nothing = shapes_of_model({"few": few["few"]}, **FITTING, **PROVENANCE)
    assert all(table.empty for table in nothing)


def test_transfer_fits_one_data_set_and_asks_another(rated, tmp_path):
    other = described(data_set("b", 150, 12, gamma=-5))
    other.stimuli["rating_source"] = "simulated"
    labelled = described(data_set("c", 150, 13))
    labelled.stimuli["rating"] = np.nan
    unknown = data_set("d", 10, 14, rated=False)
    unknown = unknown._replace(stimuli=unknown.stimuli.assign(grammatical=None))
    one = described(data_set("e", 10, 15, rated=False))
    given = {"own": rated, "other": other, "labelled": labelled, "unknown": unknown, "one": one}
    table = transfer(MODEL, given, **OPTIONS, draws=40, seed=1)
    write_table(table, "linking_transfer", tmp_path / "t.parquet")
    assert set(table["applied_to"]) == {"own", "other", "labelled"}
    morcela = table[table["linking_function"] == "morcela"]
    cell = morcela.set_index(["fitted_to", "applied_to"])
    assert cell.loc[("other", "own"), "gamma"] == pytest.approx(-5, abs=1.5)
    assert cell.loc[("own", "other"), "gamma"] == pytest.approx(11, abs=1.5)
    assert cell.loc[("own", "own"), "beta"] == pytest.approx(0.7, abs=0.1)
    assert cell.loc[("labelled", "own"), "fitted_as"] == "label"
    assert cell.loc[("own", "labelled"), "target"] == "label"
    assert cell.loc[("own", "other"), "r"] < cell.loc[("other", "other"), "r"]
    touched = [name == "simulated" for name in cell["rating_source"]]
    assert touched == ["other" in names for names in cell.index]
    # By hand: the fit to one, its predictions of the other.
    fit, asked = (rated_rows(MODEL, {"x": x}, CONVENTION)["x"] for x in (rated, other))
    keys = ["logprob", "unigram_logprob", "n_tokens"]
    predictor = fit_predictor(sentences("morcela", *(fit[key] for key in keys), fit["rating"]))
    predicted = predictor.predict(*(asked[key] for key in keys))["predicted"]
    row = cell.loc[("own", "other")]
    assert row["r"] == pytest.approx(np.corrcoef(predicted, asked["rating"])[0, 1])
    assert row["accuracy"] == pytest.approx(((predicted > 0) == (asked["rating"] > 0)).mean())
    above = predicted[asked["rating"] > 0].to_numpy()[:, None]
    below = predicted[asked["rating"] <= 0].to_numpy()
    assert row["area"] == pytest.approx((above > below).mean())
    assert (row["r_low"] < row["r"]) & (row["r"] < row["r_high"])
    # Labels are 1 and -1, so that 0 is between them, as it is between ratings.
    label = under(CONVENTION, MODEL, "labelled", labelled.scores)
    label = label.merge(labelled.stimuli, on="item_id")
    signs = np.where(label["grammatical"].astype(bool), 1.0, -1.0)
    predictor = fit_predictor(sentences("morcela", *(label[key] for key in keys), signs))
    predicted = predictor.predict(*(fit[key] for key in keys))["predicted"]
    row = cell.loc[("labelled", "own")]
    assert row["accuracy"] == pytest.approx(((predicted > 0) == (fit["rating"] > 0)).mean())


def test_an_interval_s_open_end_is_empty_in_tables():
    rows = [{"shape": "length exponent", "alpha_low": -np.inf, "alpha_high": np.inf}]
    (row,) = _table(rows, "linking_shapes", PROVENANCE).to_dict("records")
    assert np.isnan([row["alpha_low"], row["alpha_high"]]).all()


def test_single_judgments_are_beside_their_means(tmp_path):
    given, terms = judgments(5, items=60, participants=20, each=30)
    z = given.groupby("participant")["rating"].transform(lambda r: (r - r.mean()) / r.std())
    length = 1 / terms["1/l"]
    sample = pd.DataFrame(
        {
            "item_id": terms.index.astype(str),
            "rating": z.groupby(given["item"]).mean(),
            "logprob": terms["p/l"] * length,
            "unigram_logprob": terms["u/l"] * length,
            "n_tokens": length,
            "rating_source": "simulated",
        }
    )
    judged = pd.DataFrame(
        {"participant_id": given["participant"].astype(str), "item_id": given["item"].astype(str),
         "rating": given["rating"], "z": z}
    )  # fmt: skip
    table = ordinal_of_model({"own": sample}, {"own": judged}, **PROVENANCE)
    write_table(table, "ordinal_fits", tmp_path / "o.parquet")
    both = table[table["linking_function"] == "morcela"].set_index("method")
    for method in both.index:
        assert both.loc[method, "beta_low"] < 0.75 < both.loc[method, "beta_high"]
    # Noise of judgments is in the means, not in latent acceptability.
    assert both.loc["ordinal mixed model", "r"] > both.loc["z-scored means", "r"]
    assert both["n_judgments"].tolist() == [600, 600]
    assert both.loc["ordinal mixed model", "r_with_means"] > 0.95
    none = ordinal_of_model({"own": sample}, {"own": judged.iloc[:0]}, **PROVENANCE)
    assert none.empty


def test_single_judgments_have_the_r_of_their_terms_and_ratios_of_their_slopes(monkeypatch):
    """Slopes 2, -1 and 8, items' deviations .5: beta .5, gamma 4."""
    sample = pd.DataFrame({
        "item_id": list("abcdef"), "rating": [1.0, -1, 0.5, 0, 2, -2], "rating_source": "human",
        "logprob": [-10.0, -30, -18, -44, -25, -61], "n_tokens": [4, 5, 6, 8, 9, 12],
        "unigram_logprob": [-31.0, -40, -50, -66, -80, -90],
    })  # fmt: skip
    judged = pd.DataFrame({"item_id": list("abcdef") * 2, "participant_id": ["v"] * 6 + ["w"] * 6,
                           "rating": 1, "z": np.arange(12.0) ** 2})  # fmt: skip
    latent = pd.Series([3.0, 1, 4, 1, 5, 9], index=list("abcdef"))

    def fitted(rating, item, participant, terms):
        k = terms.shape[1]
        return SimpleNamespace(
            slopes=pd.Series([2.0, -1, 8][:k]), covariance=pd.DataFrame(0.01 * np.eye(k)),
            sd_items=0.5, sd_shifts=0.1, sd_stretches=0.2, acceptability=latent[::-1],
            log_likelihood=-9.0, freedom=9,
        )  # fmt: skip

    monkeypatch.setattr("lingprob.papers.morcela.beyond.fit_ordinal_mixed", fitted)
    table = ordinal_of_model({"own": sample}, {"own": judged}, **PROVENANCE)
    rows = table.set_index(["linking_function", "method"])
    single = rows.loc[("morcela", "ordinal mixed model")]
    p, u, length = (sample[key] for key in ("logprob", "unigram_logprob", "n_tokens"))
    variance = np.var((2 * p - u + 8) / length)
    assert single["r"] == pytest.approx(np.sqrt(variance / (variance + 0.25)))
    assert (single["beta"], single["gamma"]) == pytest.approx((0.5, 4))
    slor = np.var(2 * (p - u) / length)
    found = rows.loc[("slor", "ordinal mixed model"), "r"]
    assert found == pytest.approx(np.sqrt(slor / (slor + 0.25)))
    means = (np.arange(6.0) ** 2 + np.arange(6, 12.0) ** 2) / 2
    assert single["r_with_means"] == pytest.approx(np.corrcoef(means, latent)[0, 1])
    of_means = rows.loc[("slor", "z-scored means")]
    r = np.corrcoef((p - u) / length, sample["rating"])[0, 1]
    assert abs(of_means["r"]) == pytest.approx(abs(r))
    shown = rows[["n_judgments", "n_items", "n_participants"]].drop_duplicates()
    assert shown.to_numpy().tolist() == [[12, 6, 2]]


def test_residuals_are_by_phenomenon_with_their_largest_examples(rated):
    rated = rated._replace(stimuli=rated.stimuli.copy())
    odd = rated.stimuli["phenomenon"] == "phenomenon 3"
    rated.stimuli.loc[odd, "rating"] += 2
    predicted = predict_ratings(MODEL, "own", rated, {"own": rated}, **OPTIONS)
    table = residuals_by_phenomenon(predicted, rated.stimuli.assign(dataset="own"))
    assert set(table["linking_function"]) == {"slor", "morcela"}
    morcela = table[table["linking_function"] == "morcela"]
    first = morcela.iloc[0]
    assert (first["phenomenon"], first["n"]) == ("phenomenon 3", 20)
    rows = predicted[predicted["linking_function"] == "morcela"].set_index("item_id")
    residual = rows["residual"][rated.stimuli.loc[odd, "item_id"]]
    assert first["mean_residual"] == pytest.approx(residual.mean())
    half = 2.0930240544 * residual.std() / np.sqrt(20)
    assert first["mean_residual_high"] == pytest.approx(residual.mean() + half)
    assert first["rated_above"].startswith(f"{rows.loc[residual.idxmax(), 'text']} (")
    assert first["rated_below"].startswith(f"{rows.loc[residual.idxmin(), 'text']} (")
    assert morcela["mean_residual"].abs().is_monotonic_decreasing


def test_figures_have_a_panel_a_model(rated):
    rows = rated_rows(MODEL, {"own": rated}, CONVENTION)
    shapes, curves = shapes_of_model(rows, **FITTING, **PROVENANCE)
    ordinal = ordinal_of_model(rows, {"own": pd.DataFrame({"participant_id": []})}, **PROVENANCE)
    table = transfer(MODEL, {"own": rated}, **OPTIONS, draws=10, seed=1).assign(model=MODEL)
    tables = {"shapes": shapes, "curves": curves, "ordinal": ordinal, "transfer": table}
    run = Run("demo", describe_models(Catalog().models), titles={"own": "My ratings"})
    figures = draw_beyond(tables, run)
    (matrix,) = figures["transfer"].axes
    assert [label.get_text() for label in matrix.get_xticklabels()] == ["My ratings"]
    morcela = table[table["linking_function"] == "morcela"].iloc[0]
    assert matrix.texts[0].get_text().startswith(f"{morcela['r']:.2f}")
    assert rf"$\beta$ {morcela['beta']:.2f}" in matrix.get_yticklabels()[0].get_text()
    power = shapes.set_index("shape").loc["length exponent", "alpha"]
    exponents = figures["beyond_linear"].axes[0]
    assert any(power in line.get_xdata() for line in exponents.lines)
    empty = {name: table.iloc[:0] for name, table in tables.items()} | {"transfer": table}
    draw_beyond(empty, run)
    predicted = predict_ratings(MODEL, "own", rated, {"own": rated}, **OPTIONS)
    given = {**tables, "predictions": predicted, "validation": table,
             "stimuli": rated.stimuli.assign(dataset="own")}  # fmt: skip
    assert set(tabulate_beyond(given)) == {
        "residuals",
        "validation",
        "transfer",
        "shapes",
        "ordinal",
    }
    plt.close("all")
