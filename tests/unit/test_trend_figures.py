"""Trends: bits per byte by hand, the curves over them, and the models that count."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from layout import check_points
from lingprob.figures.palette import by_size, describe_models, in_families
from lingprob.figures.panels import bits_a_byte, complete, draw_models
from lingprob.papers.morcela.figures import uncertain_parameters
from lingprob.papers.morcela.parameter_figures import quality_of
from lingprob.papers.morcela.parameter_figures import trends as parameter_trends
from lingprob.papers.morcela.tables import with_certain_parameters
from lingprob.papers.run import Run, judged
from lingprob.papers.string_probability.figures import quality

STEPS = (4, 16, 64)


def trained(size: str, parameters: int, step: int | None = None) -> dict:
    state = {} if step is None else {"training_step": step}
    title = f"{size}, step {step}" if step else size
    return {"title": title, "family": "trained", "family_title": "Trained here",
            "parameters": parameters, "source": "trained", "size": size, **state}  # fmt: skip


SIZES = {"tiny": 10**5, "large": 10**6}
CATALOG = {
    "big": {"title": "Big", "family": "smollm2", "family_title": "SmolLM2", "parameters": 10**8},
    **{size: trained(size, parameters) for size, parameters in SIZES.items()},
    **{f"{size}-{step}": trained(size, parameters, step)
       for size, parameters in SIZES.items() for step in STEPS},
    **{f"{order}gram": {"title": f"{order}-grams", "family": "ngram", "family_title": "n-grams",
                        "parameters": None, "order": order, "source": "ngram",
                        "tokenizer": "t", "corpus": "novels"} for order in (2, 3, 4, 5)},
}  # fmt: skip
SERIES = {
    name: "novels" if "order" in entry else name.partition("-")[0]
    for name, entry in CATALOG.items()
}
LOOKS = {name: {**look, "series": SERIES[name]} for name, look in describe_models(CATALOG).items()}
RUN = Run("demo", LOOKS)
# Bits a byte that each model is made to have.
BITS = {name: 1.0 + 0.25 * place for place, name in enumerate(CATALOG)}
POINTS = pd.DataFrame(LOOKS.values())[["colour", "parameters"]].assign(bits=BITS.values())


def fits() -> pd.DataFrame:
    """MORCELA's fits: r grows by 0.1 per step of training and falls by 0.05 with a tenfold size."""
    rows = []
    for name, entry in CATALOG.items():
        step = STEPS.index(entry["training_step"]) if "training_step" in entry else len(STEPS)
        r = 0.2 + 0.1 * step - 0.05 * np.log10((entry["parameters"] or 10**6) / 10**5)
        r += 0.02 * entry.get("order", 0)
        values = {"r_cv": r, "logprob_slope": r, "beta": 1 - r, "gamma": 3 * r}
        ends = {f"{key}_low": value - 0.01 for key, value in values.items()}
        ends |= {f"{key}_high": value + 0.01 for key, value in values.items()}
        about = {"model": name, "dataset": "mine", "rating_source": "human", "n": 100}
        about |= {"default_convention": True, "linking_function": "morcela"}
        rows.append({**about, **values, **ends})
    return pd.DataFrame(rows)


def scores(bits: dict[str, float]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Scores with given bits per byte of two acceptable sentences, and stimuli: two data sets."""
    stimuli = pd.DataFrame({"item_id": ["a", "b", "c"] * 2, "rating": [1.0, 0.1, -0.5] * 2,
                            "text": ["abc", "dé", "wrong", "x", "x", "x"],
                            "dataset": np.repeat(["mine", "other"], 3)})  # fmt: skip
    rows = [
        {"model": model, "dataset": dataset, "item_id": item, "bos": bos, "unigrams": unigrams,
         "logprob": -value * n_bytes * np.log(2) * wrong}
        for model, value in bits.items() for dataset in ("other", "mine")
        for bos, wrong in (("none", 0.5), ("bos", 1.0))
        for unigrams in ("u", "v")
        for item, n_bytes in (("a", 2), ("b", 4), ("c", 500))
    ]  # fmt: skip
    return pd.DataFrame(rows), stimuli


def test_bits_a_byte_by_hand():
    texts = pd.Series({"a": "abc", "b": "dé"})
    logprobs = pd.Series({"b": -4 * np.log(2), "other": -99.0, "a": -8 * np.log(2)})
    assert bits_a_byte(logprobs, texts) == pytest.approx(12 / 6)
    assert np.isnan(bits_a_byte(logprobs.drop("b"), texts))


def test_models_are_placed_by_size_order_and_step():
    names = ["large", "tiny", "tiny-64", "big", "tiny-4", "3gram", "2gram"]
    grams, trained = ["2gram", "3gram"], ["tiny-4", "tiny-64", "tiny", "large"]
    assert by_size(names, LOOKS) == [*grams, *trained, "big"]
    assert in_families(names, LOOKS) == [*trained, "big", *grams]
    assert complete(pd.DataFrame({"model": names}), LOOKS)["model"].tolist() == [*names[:2], "big"]
    assert len({LOOKS[f"{order}gram"]["colour"] for order in (2, 3, 4, 5)}) == 4


def test_quality_uses_sentences_above_the_scale_s_middle():
    table, stimuli = scores({"tiny": 3.0})
    likert = stimuli.assign(rating=[6.0, 5.5, 2.0] * 2)
    found = quality_of({"sentence_scores": table, "stimuli": likert}, "mine", ["bos"])
    assert found.to_dict() == pytest.approx({"tiny": 3.0})


def test_lines_join_states_of_one_training_in_order():
    _, ax = plt.subplots()
    table = fits().assign(bits=lambda rows: rows["model"].map(BITS))
    table["r_cv"] = table["r_cv"].mask(table["model"] == "3gram")
    draw_models(ax, table, "bits", "r_cv", LOOKS, joined="series")
    lines = [list(line.get_xdata()) for line in ax.lines if len(line.get_xdata()) > 1]
    expected = [[f"{order}gram" for order in (2, 4, 5)]]
    expected += [[*(f"{size}-{step}" for step in STEPS), size] for size in SIZES]
    assert sorted(lines) == sorted([BITS[name] for name in names] for names in expected)
    assert len(ax.lines) == len(table) - 1 + len(expected)
    two = table[table["model"].isin(["tiny-64", "tiny"])]
    without_intervals = two.drop(columns=["r_cv_low", "r_cv_high"])
    for points, options, filling, intervals in (
        (two, {}, LOOKS["tiny"]["colour"], 2), (without_intervals, {"hollow": True}, "white", 0)
    ):  # fmt: skip
        _, ax = plt.subplots()
        draw_models(ax, points, "bits", "r_cv", LOOKS, joined="series", **options)
        (line,) = [line for line in ax.lines if len(line.get_xdata()) > 1]
        assert list(line.get_xdata()) == [BITS["tiny-64"], BITS["tiny"]]
        assert ax.lines[-1].get_markerfacecolor() == filling
        assert len(ax.collections) == intervals


def test_morcela_s_trends_are_by_bits_and_sizes():
    sentence_scores, stimuli = scores(BITS)
    tables = {"sentence_scores": sentence_scores, "stimuli": stimuli}
    nothing = pd.DataFrame(columns=["model", "linking_function", "r_cv", "beta", "gamma"])
    figure = parameter_trends(fits(), nothing, quality_of(tables, "mine", ["bos"]), RUN)
    rows = fits().join(POINTS)
    finished = rows[rows["model"].isin(["big", "tiny", "large"])]
    for place, quantity in enumerate(("r_cv", "gamma", "beta")):
        check_points(figure.axes[2 * place :][:1], rows, "bits", quantity)
        check_points(figure.axes[2 * place + 1 :][:1], finished, "parameters", quantity)


def strings() -> dict[str, pd.DataFrame]:
    """String probability's tables of one data set of pairs, with rows of every model."""
    about = pd.DataFrame({"model": list(CATALOG), "dataset": "mine"})
    r = about.assign(prediction=1, subset="overall", name="", n=9, simulated=False)
    r = r.assign(r=0.9, r_low=0.8, r_high=0.95)
    areas = about.assign(phenomenon="", metric="logprob", n_pairs=9, n_grammatical=9)
    areas = areas.assign(auc=0.7, auc_low=0.6, auc_high=0.8, n_ungrammatical=9)
    areas = areas.assign(accuracy=0.8, accuracy_low=0.75, accuracy_high=0.95, lead=np.nan)
    found, stimuli = scores(BITS)
    found = found[(found["bos"] == "bos") & (found["unigrams"] == "u")]
    found = found.assign(grammatical=found["item_id"] != "c")
    return {"string_correlations": r, "string_separation": areas, "string_scores": found,
            "stimuli": stimuli}  # fmt: skip


def test_string_quality_is_in_bits_of_grammatical_sentences():
    figure = quality(strings(), RUN)
    labels = ["r of Prediction 1", "Area under ROC curve", "Accuracy on pairs"]
    assert [ax.get_title().partition("\n")[2] for ax in figure.axes] == labels
    for ax, y, at_chance in zip(figure.axes, (0.9, 0.7, 0.8), (0.0, 0.5, 0.5), strict=True):
        check_points([ax], POINTS.assign(y=y), "bits", "y")
        assert [at_chance] * 2 in [list(line.get_ydata()) for line in ax.lines]
    # Imported scores and pseudo-log-likelihoods are no bits of a text.
    models = {name: {**look, "causal": name == "tiny"} for name, look in LOOKS.items()}
    (point,) = quality(strings(), replace(RUN, models=models)).axes[0].lines[:1]
    assert list(point.get_xdata()) == pytest.approx([BITS["tiny"]])


def test_claims_are_tested_without_models_made_here():
    table = pd.DataFrame({"model": list(CATALOG), "value": range(len(CATALOG))})
    assert judged(table, RUN)["model"].tolist() == ["big"]
    of_trained = table[table["model"] != "big"]
    assert judged(of_trained, RUN) is of_trained


@pytest.mark.parametrize(("low", "high"), [(-0.01, 0.2), (0.0, 0.2), (-0.2, 0.0)])
def test_ratios_to_possible_zeros_are_left_out(low, high):
    table = fits()
    of_step = table["model"] == "tiny-4"
    ends = ["logprob_slope_low", "logprob_slope_high"]
    table.loc[of_step, [*ends, "beta", "beta_high", "gamma"]] = [low, high, 900.0, 9e9, -4e5]
    # Slopes below and above 0 give ratios. A correlation may be that of unigrams.
    table.loc[table["model"] == "tiny-16", ends] = [-0.2, -0.1]
    table.loc[table["model"] == "tiny-64", "r_cv_low"] = -0.01
    kept = with_certain_parameters(table)
    assert kept.loc[of_step, ["beta", "beta_low", "beta_high", "gamma"]].isna().all(axis=None)
    assert kept.loc[of_step, "r_cv"].notna().all()
    pd.testing.assert_frame_equal(kept[~of_step], table[~of_step])
    why = "No gamma and beta, because the slope of log-probability may be 0"
    assert uncertain_parameters(table, RUN) == f"{why}: tiny, step 4."
    assert uncertain_parameters(table[~of_step], RUN) == ""
