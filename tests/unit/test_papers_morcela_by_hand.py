"""MORCELA's tables of few sentences: conventions, limits of units, gains, and what is not there."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lingprob.catalog import read_published
from lingprob.papers.contract import Run
from lingprob.papers.morcela.analysis import (
    correlate_participant_groups,
    draw_parameters,
    fit_model,
)
from lingprob.papers.morcela.fits import default_fits, printed_agreement
from lingprob.papers.morcela.rated import DataSet, rated_scores, under
from lingprob.papers.morcela.scorecard import morcela_quantities
from lingprob.papers.morcela.trends import points_of
from lingprob.regression.agreement import split_half
from lingprob.stimuli.checks import NO_RATINGS

PUBLISHED = read_published("morcela")
PAPER = "linguistic_inquiry"


def test_scores_are_taken_under_one_convention_and_in_the_order_of_the_stimuli():
    scores = pd.DataFrame([
        {"item_id": item, "bos": bos, "unigrams": unigrams, "logprob": float(place)}
        for place, (bos, unigrams) in enumerate([("a", "u"), ("a", "v"), ("b", "u"), ("b", "v")])
        for item in ("s1", "s2")
    ])  # fmt: skip
    found = under(("a", "v"), "m", "d", scores)
    assert list(found) == list(scores)
    assert found[["item_id", "logprob"]].to_numpy().tolist() == [["s1", 1.0], ["s2", 1.0]]
    stimuli = pd.DataFrame({"item_id": ["s2", "s1"], "rating": [0.2, 0.1], "pair_id": ["p", "q"]})
    rated = rated_scores("d", stimuli, found)
    assert list(rated) == [*scores, "rating", "pair_id"]
    assert rated[["item_id", "rating"]].to_numpy().tolist() == [["s2", 0.2], ["s1", 0.1]]


def in_articles(articles: int) -> dict[str, DataSet]:
    """A data set of 60 sentences in so many articles, rated by chance."""
    rng = np.random.default_rng(2)
    items = [f"s{k}" for k in range(60)]
    stimuli = pd.DataFrame({
        "item_id": items, "rating": rng.normal(size=60), "rating_source": "human",
        "phenomenon": [f"a{k % articles}" for k in range(60)],
    })  # fmt: skip
    scores = pd.DataFrame({
        "item_id": items, "bos": "b", "unigrams": "u", "n_tokens": rng.integers(4, 20, 60),
        "logprob": rng.normal(-40, 5, 60), "unigram_logprob": rng.normal(-80, 5, 60), "n_words": 1,
    })  # fmt: skip
    return {"d": DataSet(stimuli, scores)}


FITTING = {"default_convention": ("b", "u"), "cluster": "sentence", "scale": "demo", "folds": 2,
           "repeats": 2, "bootstrap": 3, "seed": 1}  # fmt: skip


@pytest.mark.parametrize(("articles", "kept"), [(10, "article"), (9, "sentence")])
def test_folds_keep_articles_together_where_each_has_five(articles, kept):
    given = in_articles(articles)
    table = fit_model("m", given, keep_together="article", **FITTING)
    assert set(table["kept_together"]) == {kept}
    assert list(default_fits(table)) == list(table)
    by_article, by_sentence = (
        draw_parameters("m", given, keep_together=unit, **FITTING)
        for unit in ("article", "sentence")
    )
    assert by_article.equals(by_sentence) == (kept == "sentence")
    assert len(by_article) == len(by_sentence)


def test_groups_of_participants_are_correlated_where_there_are_judgments():
    judged = []
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=(12, 9)) + 2 * rng.normal(size=9)
        rows = [(f"w{who}", f"s{item}", z[who, item]) for who in range(12) for item in range(9)]
        table = pd.DataFrame(rows, columns=["participant_id", "item_id", "z"])
        judged.append(table.assign(rating=table["z"]))
    stimuli = [pd.DataFrame({"rating_source": [source]}) for source in
               ("human", "human", "simulated")]  # fmt: skip
    given = [judged[0], NO_RATINGS, judged[1]]
    table = correlate_participant_groups(["a", "b", "c"], stimuli, given, seed=3, scale="demo")
    for name, source, judgments in (("a", "human", judged[0]), ("c", "simulated", judged[1])):
        expected = split_half(judgments, seed=3)
        found = table[table["dataset"] == name].reset_index(drop=True)
        pd.testing.assert_series_equal(found["r"], expected["r"])
        assert set(found["rating_source"]) == {source}
    assert set(table["dataset"]) == {"a", "c"}


def fit(linking_function: str, **columns: float) -> dict:
    """A row of `linking_functions`, whose columns have intervals of .1 below and .2 above."""
    values = {"beta": 0.5, "gamma": 9.0, "logprob_slope": 1.0, "over_slor": 0.12,
              "below_morcela": 0.3, **columns}  # fmt: skip
    ends = {f"{name}_low": value - 0.1 for name, value in values.items()}
    ends |= {f"{name}_high": value + 0.2 for name, value in values.items()}
    about = {"model": "m", "dataset": PAPER, "linking_function": linking_function, "n": 50,
             "rating_source": "human", "default_convention": True, "bos": "b", "unigrams": "u",
             "aic": 1.0, "bic": 2.0, "sse": 3.0}  # fmt: skip
    return {**about, **values, **ends}


@pytest.mark.parametrize(("r", "reduced"), [([0.8], True), ([0.5], False), ([], False)])
def test_an_error_is_reduced_by_the_gain_s_part_of_what_slor_lacks(r, reduced):
    """.12 (.02 to .32) of .8 less .5."""
    fits = pd.DataFrame([fit("logprob", r_cv=0.4), fit("slor", r_cv=0.5), fit("morcela", r_cv=0.6)])
    halves = pd.DataFrame({"r": r, "dataset": PAPER, "definition": "equal_halves", "r_low": 0.0,
                           "r_high": 1.0, "description": "halves"})  # fmt: skip
    stimuli = pd.DataFrame({"dataset": [PAPER], "text": "x", "rating": 0.0})
    tables = {"linking_functions": fits, "intergroup_correlation": halves, "stimuli": stimuli}
    run = Run("demo", {"pythia-1b": {"parameters": 11 * 10**8}})
    found = morcela_quantities(tables, PUBLISHED, run)
    assert found["pythia-1b/parameters", "billions"].value == pytest.approx(1.1)
    assert found["m/gain", "over_slor"].value == 0.12
    assert found["m/gain", "over_logprob"].value == 0.3
    assert (("m/gain", "error_reduction") in found) == reduced
    if reduced:
        part = found["m/gain", "error_reduction"]
        ends = (part.value, part.low, part.high)
        assert ends == pytest.approx((40, 2 / 0.3, 32 / 0.3))


def test_where_nothing_is_printed_there_is_no_agreement():
    assert printed_agreement({}, PAPER) is None
    assert printed_agreement(PUBLISHED, PAPER) == 0.86
    assert printed_agreement(PUBLISHED, "mine") is None


def test_points_have_a_gain_without_beta_and_gamma():
    """Of three functions whose log-probability may have no slope at all."""
    names = ("slor", "morcela_beta_1", "morcela")
    fits = pd.DataFrame([fit(name, r_cv=place / 10) for place, name in enumerate(names, start=3)])
    fits["logprob_slope_low"] = -1.0
    run = Run("demo", {"m": {"family": "f", "parameters": None}})
    points = points_of({"linking_functions": fits}, run)[PAPER]
    assert points[["r", "gain", "gap"]].to_numpy().tolist() == [pytest.approx([0.5, 0.2, 0.1])]
    assert points["size"].isna().all()
    assert {"beta", "gamma"}.isdisjoint(points)
