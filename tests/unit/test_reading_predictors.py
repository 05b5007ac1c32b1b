"""Predictors of reading times: their columns, coding, standardisation and unigrams."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.reading.predictors import (
    perplexity,
    regression_frame,
    standardised,
    unigram_surprisal,
)
from lingprob.unigrams.counts import count_words
from words_for_tests import words_of


def regression_tables(surprisals: dict[str, Any]) -> tuple[Any, ...]:
    """Two passages of three words, one of two sentences, each read by two readers."""
    words = words_of("A bb ccc", "Dd e f").assign(sentence_index=[0, 0, 1, 0, 0, 0])
    times = pd.concat([words.assign(subject_id=name) for name in "st"], ignore_index=True)
    times = times.assign(
        rt_ms=np.arange(12.0), excluded=None, partition="fit", previous_fixated=None
    )
    keys = words[["passage_id", "word_index"]]
    tables = {name: keys.assign(surprisal=values) for name, values in surprisals.items()}
    return times, words, np.arange(6) * 0.5, tables


def test_more_previous_words_on_request():
    tables = regression_tables({"one": np.arange(6.0) ** 2})
    frame, (predictors,) = regression_frame(*tables, previous_words=2)
    assert predictors.previous == ("previous_surprisal_of_one", "previous_2_surprisal_of_one")
    assert frame[["surprisal_of_one", *predictors.previous]].to_numpy()[:2].tolist() == [
        [4, 1, 0], [25, 16, 9]
    ]  # fmt: skip
    named = predictors.named(
        "rt_ms ~ surprisal_of_one + previous_surprisal_of_one + previous_2_surprisal_of_one"
    )
    assert named == "rt_ms ~ surprisal + previous_surprisal + previous_2_surprisal"


def test_surprisals_in_another_order_are_refused():
    times, words, unigrams, tables = regression_tables({"one": np.arange(6.0)})
    turned = {"one": tables["one"][::-1]}
    with pytest.raises(LingprobError, match="'one': surprisals of 6 words for a text of 6"):
        regression_frame(times, words, unigrams, turned)


def test_rounding_alone_is_constant():
    """The limit grows with the mean: 1e-3 at 1e9; at 0.1 it is 1e-12."""
    frame = pd.DataFrame(
        {"partition": "fit", "x": [1e9, 1e9 + 1e-4] * 5, "y": [0.1, 0.1 + 1e-9] * 5,
         "z": [0.0, 0.1 + 0.2 - 0.3] * 5}
    )  # fmt: skip
    for name, said in (("x", "'x' is 1e\\+09 in every row"), ("z", "'z' is 2.77")):
        with pytest.raises(LingprobError, match=said):
            standardised(frame, [name])
    assert standardised(frame, ["y"])["y"].abs().round(6).nunique() == 1


def test_predictors_are_standardised_by_the_fit_partition():
    frame = pd.DataFrame({"partition": ["fit", "test", "fit", "test"], "x": [1.0, 7.0, 3.0, 99.0]})
    found = standardised(frame, ["x"])["x"]
    np.testing.assert_allclose(found, np.array([-1, 5, 1, 97]) / np.sqrt(2))


def test_perplexity_by_word_and_by_token():
    table = pd.DataFrame(
        {"surprisal": [np.nan, 2.0, 4.0, 6.0], "surprisal_uncorrected": [np.nan, 1.0, 6.0, 2.0],
         "n_tokens": [1, 1, 3, None]}
    )  # fmt: skip
    assert perplexity(table) == (2**4.0, 2 ** (7 / 4))
    assert perplexity(table, corrected=False) == (2**3.0, 2 ** (7 / 4))


def test_columns_and_rows_of_a_regression():
    """No first word has a predecessor, and no word has another passage's."""
    tables = regression_tables({"one": np.arange(6.0) ** 2})
    frame, (predictors,) = regression_frame(*tables)
    assert predictors.all == (
        "surprisal_of_one", "previous_surprisal_of_one", "unigram_surprisal", "length", "index"
    )  # fmt: skip
    assert list(frame) == ["subject_id", "sentence", "partition", "rt_ms", *predictors.all]
    assert frame["rt_ms"].tolist() == [1, 2, 4, 5, 7, 8, 10, 11]
    assert frame[list(predictors.all)].to_numpy()[:4].tolist() == [
        [1, 0, 0.5, 2, 2], [4, 1, 1.0, 3, 1], [16, 9, 2.0, 1, 2], [25, 16, 2.5, 1, 3]
    ]  # fmt: skip
    assert frame["sentence"].tolist() == [0, 1, 2, 2] * 2
    times, *others, surprisals = tables
    plain = {"one": surprisals["one"].assign(surprisal_uncorrected=np.arange(6.0))}
    for fixated, known in (
        ([True, False] * 6, True),
        ([None] + [False] * 11, False),
        (True, False),
    ):
        given = times.assign(previous_fixated=fixated)
        frame, (predictors,) = regression_frame(given, *others, plain, corrected=False)
        assert ("previous_fixated" in predictors.baseline) == known
        assert frame["surprisal_of_one"].tolist() == [1, 2, 4, 5] * 2


def test_conditions_are_coded_as_deviations():
    times, *others = regression_tables({"a-b": np.arange(6.0), "a.b": np.arange(6.0) ** 2})
    times["condition"] = np.resize(["late", "early-1", "mid"], len(times))
    frame, predictors = regression_frame(times, *others)
    assert [one.surprisal for one in predictors] == ["surprisal_of_a_b", "surprisal_of_a_b_"]
    names = ("condition_early_1", "condition_late")
    assert predictors[0].factors == names
    assert predictors[0].all[-2:] == names
    codes = {"early-1": [1, 0], "late": [0, 1], "mid": [-1, -1]}
    kept = times["condition"][times["word_index"] > 0]
    assert frame[list(names)].to_numpy().tolist() == [codes[level] for level in kept]
    some = times.assign(condition=times["condition"].where(times.index != 1))
    assert regression_frame(some, *others)[1][0].factors == ()
    times["condition"] = np.resize(["+gap", "-gap"], len(times))
    with pytest.raises(LingprobError, match=r"'\+gap', '-gap'\] differ in punctuation alone"):
        regression_frame(times, *others)


def test_regions_sum_unigrams_and_count_letters():
    counts = [count_words(["the dog the cat"])]
    found = unigram_surprisal(pd.Series(["the dog", "cat", "dog"]), counts)
    each = -np.log2(np.array([3, 2, 2]) / 8)
    assert found == pytest.approx([each[0] + each[1], each[2], each[1]])
    times, words, unigrams, tables = regression_tables({"one": np.arange(6.0)})
    words = words.assign(word=["A", "b b", "ccc", "D", "e e e", "f"])
    frame, _ = regression_frame(times, words, unigrams, tables)
    assert frame["length"].tolist()[:4] == [2, 3, 3, 1]
    same = words.assign(word="B")
    assert "length" not in regression_frame(times, same, unigrams, tables)[1][0].all


def test_unigrams_ignore_case_and_outer_punctuation():
    counts = count_words(['The "cat" don\u2019t', "the CAT, — the"])
    assert counts.to_numpy().tolist() == [["the", 3], ["cat", 2], ["don't", 1], ["—", 1]]
    found = unigram_surprisal(pd.Series(["Cat.", "dog"]), [counts, counts])
    # 14 words and 4 forms, and one more form for unknown words.
    assert found == pytest.approx([-np.log2(5 / 19), -np.log2(1 / 19)])
    half = unigram_surprisal(pd.Series(["Cat.", "dog"]), [counts, counts], 0.5)
    assert half == pytest.approx([-np.log2(4.5 / 16.5), -np.log2(0.5 / 16.5)])
    with pytest.raises(LingprobError, match="'dog' is not in the corpus"):
        unigram_surprisal(pd.Series(["cat", "dog"]), [counts], smoothing=0)
    with pytest.raises(LingprobError, match="no words"):
        count_words(["  "])
