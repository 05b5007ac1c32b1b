"""MORCELA's predictions of single sentences, from small tables made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from judgments_for_tests import OPTIONS, data_set
from lingprob.errors import LingprobError
from lingprob.papers.morcela.predictions import predict_ratings
from lingprob.regression.designs import LINKING_FUNCTIONS
from lingprob.tables import write_table


def test_unrated_sentences_get_a_prediction_by_every_function_and_rated_data_set(tmp_path):
    new = data_set("new", 20, 1, rated=False)
    rated = {"first": data_set("a", 100, 2), "second": data_set("b", 100, 3, gamma=-5)}
    table = predict_ratings("m", "new", new, rated, **OPTIONS)
    assert len(table) == 2 * len(LINKING_FUNCTIONS) * 20
    assert set(table["bos"]) == {"bos"}
    assert table[["rating", "residual", "held_out"]].isna().all(axis=None)
    morcela = table[table["linking_function"] == "morcela"].set_index(["fitted_to", "item_id"])
    scores = new.scores[new.scores["bos"] == "bos"].set_index("item_id")
    for name, gamma in (("first", 11), ("second", -5)):
        truth = 0.5 * (scores["logprob"] - 0.7 * scores["unigram_logprob"] + gamma)
        truth = truth / scores["n_tokens"]
        found = morcela.loc[name]
        inside = (found["predicted_low"] < truth) & (truth < found["predicted_high"])
        assert inside.mean() > 0.7
        assert (found["predicted"] - truth).abs().max() < 0.3
    assert morcela.loc["first", "text"].iloc[3] == "Sentence 3."
    write_table(table, "predicted_ratings", tmp_path / "table.parquet")


def test_a_rated_data_set_has_residuals_and_predictions_without_the_sentence():
    own = data_set("a", 60, 4)
    given = {"own": own, "other": data_set("b", 60, 5)}
    table = predict_ratings("m", "own", own, given, **OPTIONS)
    assert np.allclose(table["residual"], table["rating"] - table["predicted"])
    within = table[table["fitted_to"] == "own"]
    assert table[table["fitted_to"] == "other"]["held_out"].isna().all()
    morcela = within[within["linking_function"] == "morcela"]
    assert morcela["residual"].sum() == pytest.approx(0, abs=1e-9)
    # A fit without the sentence is farther from it, always.
    assert ((morcela["rating"] - morcela["held_out"]).abs() > morcela["residual"].abs()).all()
    by_pair = predict_ratings("m", "own", own, given, **{**OPTIONS, "cluster": "pair"})
    assert not np.allclose(by_pair.loc[within.index, "held_out"], within["held_out"])


def test_simulated_ratings_are_said_to_be_and_absent_unigrams_leave_functions_out():
    rated, new = data_set("a", 40, 6), data_set("n", 5, 7, rated=False)
    rated.stimuli["rating_source"] = "simulated"
    for given in (rated, new):
        given.scores["unigram_logprob"] = np.nan
    table = predict_ratings("m", "new", new, {"own": rated}, **OPTIONS)
    assert set(table["linking_function"]) == {"logprob", "mean_logprob"}
    assert set(table["rating_source"]) == {"simulated"}


def test_a_data_set_that_is_scored_under_another_convention_is_named():
    new = data_set("n", 5, 8, rated=False)
    with pytest.raises(LingprobError, match=r"'new': m has scored it under .*morcela.predicted"):
        predict_ratings(
            "m",
            "new",
            new,
            {"own": data_set("a", 40, 9)},
            **{**OPTIONS, "convention": ("eos", "u")},
        )
