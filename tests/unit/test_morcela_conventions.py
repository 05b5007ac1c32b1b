"""MORCELA's conventions, and differences between models."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from layout import layout_faults
from lingprob.catalog import Catalog, read_yaml
from lingprob.figures.labels import label_provenance
from lingprob.figures.palette import describe_models
from lingprob.papers.contract import Run
from lingprob.papers.morcela.analysis import draw_parameters, fit_model
from lingprob.papers.morcela.comparison_figures import parameter_matrix
from lingprob.papers.morcela.convention_figures import conventions, source_name
from lingprob.papers.morcela.differences import parameter_differences
from lingprob.papers.morcela.fits import default_fits
from lingprob.papers.morcela.rated import DataSet
from lingprob.regression.linking import fit_linking_functions
from lingprob.tables import write_table

SENTENCES = 240
FITTING = {
    "default_convention": ("none", "pile"), "cluster": "article", "keep_together": "sentence",
    "scale": "demo", "folds": 5, "repeats": 3, "bootstrap": 30, "seed": 1,
}  # fmt: skip


def inputs(seed: int = 0) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sentences in pairs and 30 articles, scored under three BOS policies and two sources."""
    rng = np.random.default_rng(seed)
    length = rng.integers(4, 20, SENTENCES)
    unigram = -8.0 * length + rng.normal(0, 4, SENTENCES)
    logprob = -3.0 * length + rng.normal(0, 6, SENTENCES)
    rating = (logprob - 0.7 * unigram + 11) / length + rng.normal(0, 0.3, SENTENCES)
    number = np.arange(SENTENCES)
    stimuli = pd.DataFrame({
        "item_id": [f"s{row}" for row in number], "pair_id": [f"p{row // 2}" for row in number],
        "paradigm": None, "phenomenon": [f"a{row // 8}" for row in number], "text": "x",
        "rating": rating, "rating_source": "human",
    })  # fmt: skip
    scores = pd.DataFrame({"item_id": stimuli["item_id"], "n_tokens": length, "n_words": 1})
    every = [
        scores.assign(bos=bos, unigrams=source, logprob=logprob - shift,
                      unigram_logprob=unigram + noise * rng.normal(size=SENTENCES))
        for bos, shift in (("none", 0.0), ("bos", 3.0), ("bos_first_excluded", 1.0))
        for source, noise in (("pile", 0.0), ("unigrahams_m", 9.0))
    ]  # fmt: skip
    return stimuli, pd.concat(every, ignore_index=True)


def test_normalising_published_unigrams_moves_no_fit():
    """It adds the same to u/l of every sentence, which the intercept absorbs."""
    stimuli, scores = inputs()
    one = scores[(scores["bos"] == "bos") & (scores["unigrams"] == "pile")]
    moved = one["unigram_logprob"] - np.log(1.05) * one["n_tokens"]
    tables = [
        fit_linking_functions(one["logprob"], unigram, one["n_tokens"], stimuli["rating"],
                              repeats=2, bootstrap=20)
        for unigram in (one["unigram_logprob"], moved)
    ]  # fmt: skip
    pd.testing.assert_frame_equal(*tables, rtol=1e-9)


def test_sources_are_named_without_the_model():
    assert source_name("unigrahams_smollm2-135m") == "unigrahams"
    assert source_name("unigrahams-released_opt-30b") == "unigrahams-released"
    assert source_name("corpus_my_texts") == "my_texts"
    assert source_name("pile_published") == "pile_published"


def two_models(shift: float) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Fits and draws of two models: the second's scores are the first's and a part of u."""
    stimuli, scores = inputs()
    tables: tuple[list, list] = ([], [])
    for name, part in (("a", 0.0), ("b", shift)):
        moved = scores.assign(logprob=scores["logprob"] + part * scores["unigram_logprob"])
        given = (name, {"d": DataSet(stimuli, moved)})
        tables[0].append(fit_model(*given, **FITTING))
        tables[1].append(draw_parameters(*given, **FITTING))
    return tuple(pd.concat(table, ignore_index=True) for table in tables)


def test_models_differ_by_what_their_scores_do_in_every_resample(tmp_path):
    """p + .1 u for p: beta rises by .1 exactly, so that the paired interval has no width."""
    fits, draws = two_models(0.1)
    write_table(draws, "linking_draws", tmp_path / "draws.parquet")
    row = parameter_differences(default_fits(fits), draws).iloc[0]
    assert (row["model"], row["other"]) == ("a", "b")
    for end in ("", "_low", "_high"):
        assert row[f"beta{end}"] == pytest.approx(-0.1)
        assert row[f"gamma{end}"] == pytest.approx(0, abs=1e-9)
        assert row[f"r_cv{end}"] == pytest.approx(0, abs=1e-9)


def test_differences_by_hand():
    """r_cv of draws lies elsewhere than that of all sentences: its interval is moved to it."""
    fits = pd.DataFrame({
        "dataset": "d", "model": ["a", "b"], "linking_function": "morcela",
        "beta": [0.9, 0.5], "gamma": [20.0, 11.0], "r_cv": [0.7, 0.6],
    })  # fmt: skip
    number = np.arange(41)
    draws = pd.concat(
        pd.DataFrame({
            "dataset": "d", "model": model, "draw": number, "n": 9, "cluster": "item",
            "linking_function": name,
            "beta": size * number, "gamma": size * number**2, "r_cv": size * number / 100,
        })
        for model, name, size in (
            ("a", "morcela", 2.0), ("b", "morcela", 1.0), ("a", "morcela_gamma_0", 7.0))
    )  # fmt: skip
    row = parameter_differences(fits, draws.sample(frac=1, random_state=0)).iloc[0]
    assert row[["beta", "beta_low", "beta_high"]].to_list() == pytest.approx([0.4, 1, 39])
    assert row[["gamma", "gamma_low", "gamma_high"]].to_list() == pytest.approx([9, 1, 39**2])
    assert row[["r_cv", "r_cv_low", "r_cv_high"]].to_list() == pytest.approx([0.1, -0.09, 0.29])


def test_models_of_other_sentences_are_not_compared():
    fits, draws = two_models(0.1)
    of_b = draws.index[(draws["model"] == "b") & (draws["linking_function"] == "morcela")]
    fits, fewer = default_fits(fits), draws.drop(of_b[-1])
    assert parameter_differences(fits, fewer).empty
    draws.loc[draws["model"] == "b", "n"] -= 1
    assert parameter_differences(fits, draws).empty


def sixteen(table: pd.DataFrame) -> pd.DataFrame:
    """One model's rows as those of the paper's sixteen, a little apart."""
    names = read_yaml("scales.yaml")["paper"]["morcela"]["models"]
    moved = []
    for number, name in enumerate(names):
        rows = table.assign(model=name)
        for column in ("r_cv", "beta", "gamma"):
            ends = [end for end in (column, f"{column}_low", f"{column}_high") if end in rows]
            rows[ends] = rows[ends] * (1 - 0.02 * number)
        moved.append(rows)
    return pd.concat(moved, ignore_index=True)


def test_conventions_have_a_row_each_with_the_default_one_first():
    stimuli, scores = inputs()
    fits = fit_model("pythia-1b", {"d": DataSet(stimuli, scores)}, **FITTING)
    figure = conventions(fits, Run("paper", describe_models(Catalog().models)))
    shown = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert shown == [
        "none | pile (default)", "none | unigrahams", "bos | pile", "bos | unigrahams",
        "bos_first_excluded | pile", "bos_first_excluded | unigrahams",
    ]  # fmt: skip
    plt.close(figure)


def test_figures_of_sixteen_models_have_nothing_cut_or_overprinted():
    stimuli, scores = inputs()
    draws = draw_parameters("m", {"linguistic_inquiry": DataSet(stimuli, scores)}, **FITTING)
    given = {"linguistic_inquiry": DataSet(stimuli, scores)}
    table = sixteen(fit_model("m", given, **FITTING))
    run = Run("paper", describe_models(Catalog().models))
    figures = {
        "conventions": conventions(table, run),
        "differences": parameter_matrix(sixteen(draws), default_fits(table), run),
    }
    for name, figure in figures.items():
        label_provenance(figure, ["paper"])
        assert layout_faults(figure) == [], name
        assert figure.get_figheight() < 11
        plt.close(figure)
