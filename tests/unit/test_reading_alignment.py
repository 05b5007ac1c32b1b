"""Words found again in the text, and what is left out of regressions, on a few words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.reading.alignment import align_words, attach_words, check_words
from lingprob.reading.predictors import perplexity, regression_frame, standardised
from lingprob.reading.times import saccades, sentence_boundaries
from words_for_tests import words_of

NAMES = [f"w{number}" for number in range(60)]


def test_words_beyond_the_end_of_the_text_part_from_nothing():
    with pytest.raises(LingprobError, match=r"at word 5, where the text has nothing and .* 'w5'"):
        align_words(NAMES[:10], NAMES[:5], "mine")


def test_words_that_the_text_has_more_of_are_no_parting():
    """The first of the reading times' own words that are others is named, whatever is put in."""
    text = ["new", *NAMES]
    assert align_words(NAMES, text, "mine").tolist() == list(range(1, 61))
    with pytest.raises(LingprobError, match=r"at word 4, where the text has 'w3' and .* 'x'"):
        align_words([*NAMES[:3], *"xyvz", *NAMES[7:20]], text[:21], "mine")
    assert align_words([], text, "mine").tolist() == []


def test_marks_alone_are_told_apart():
    times = words_of("--")
    with pytest.raises(LingprobError, match=r"is '--' in the reading times and '\.\.\.'"):
        check_words(times, words_of("..."), "mine")
    check_words(times, words_of("--"), "mine")


def test_a_few_other_words_are_told_whoever_read_them(caplog):
    """The second reader's word 7 alone is another one."""
    words = words_of(" ".join(NAMES))
    first = words_of(" ".join(NAMES))
    second = words_of(" ".join([*NAMES[:7], "wrong", *NAMES[8:]]))
    check_words(first, words, "mine")
    assert not caplog.records
    check_words(pd.concat([first, second]), words, "mine")
    assert "1 of 61 words are others in the reading times than in the text" in caplog.text
    assert "first word 7 of passage '1': 'wrong' and 'w7'" in caplog.text


def test_the_first_row_that_is_left_out_is_told(caplog):
    words = words_of(" ".join(NAMES))
    times = pd.DataFrame(
        {"passage_id": "1", "number": range(62), "word": [*NAMES, "more", "again"], "rt_ms": 300.0}
    )
    with caplog.at_level("WARNING"):
        found = attach_words(times, words, "mine")
    assert found["word_index"].tolist() == list(range(60))
    assert "2 of 62 rows are left out" in caplog.text
    assert "(passage '1': 'more')" in caplog.text


def test_sentences_of_passages_whose_numbers_look_alike_are_apart():
    """Sentence 10 of passage 1 and sentence 0 of passage 11."""
    words = pd.DataFrame(
        {"passage_id": ["1"] * 3 + ["11"] * 3, "sentence_index": [10] * 3 + [0] * 3}
    )
    assert sentence_boundaries(words).tolist() == [True, False, True] * 2
    assert sentence_boundaries(words[:1]).tolist() == [True]


def test_the_first_reader_may_pass_over_the_first_words():
    times = pd.DataFrame(
        {"subject_id": [*"aaaabbb"], "passage_id": "1", "word_index": [0, 1, 2, 3, 0, 1, 3],
         "rt_ms": [0, 0, 300, 200, 0, 100, 100]}
    )  # fmt: skip
    fixated, distances = saccades(times)
    assert distances.tolist() == [1, 2, 3, 1, 1, 2, 2]
    assert fixated.tolist() == [True, False, False, True, True, False, False]


def regression_tables(surprisals: dict[str, Any]) -> tuple[Any, ...]:
    """Two passages of three words, each read by two readers."""
    words = words_of("A bb ccc", "Dd e f")
    times = pd.concat([words.assign(subject_id=name) for name in "st"], ignore_index=True)
    times = times.assign(
        rt_ms=np.arange(12.0), excluded=None, partition="fit", previous_fixated=None
    )
    keys = words[["passage_id", "word_index"]]
    tables = {name: keys.assign(surprisal=values) for name, values in surprisals.items()}
    return times, words, np.arange(6) * 0.5, tables


def test_a_regression_s_columns_and_rows():
    """No word has another passage's last for the one before, nor a first word any."""
    tables = regression_tables({"one": np.arange(6.0) ** 2})
    frame, (predictors,) = regression_frame(*tables)
    assert predictors.all == (
        "surprisal_0", "previous_surprisal_0", "unigram_surprisal", "length", "index"
    )  # fmt: skip
    assert list(frame) == ["subject_id", "sentence", "partition", "rt_ms", *predictors.all]
    assert frame["rt_ms"].tolist() == [1, 2, 4, 5, 7, 8, 10, 11]
    assert frame[list(predictors.all)].to_numpy()[:4].tolist() == [
        [1, 0, 0.5, 2, 2], [4, 1, 1.0, 3, 3], [16, 9, 2.0, 1, 2], [25, 16, 2.5, 1, 3]
    ]  # fmt: skip
    assert frame["sentence"].tolist() == [0, 0, 1, 1] * 2


def test_surprisals_of_more_previous_words_are_predictors_on_request():
    tables = regression_tables({"one": np.arange(6.0) ** 2})
    frame, (predictors,) = regression_frame(*tables, previous_words=2)
    assert predictors.previous == ("previous_surprisal_0", "previous_2_surprisal_0")
    assert frame[["surprisal_0", *predictors.previous]].to_numpy()[:2].tolist() == [
        [4, 1, 0], [25, 16, 9]
    ]  # fmt: skip
    named = predictors.named("rt_ms ~ surprisal_0 + previous_surprisal_0 + previous_2_surprisal_0")
    assert named == "rt_ms ~ surprisal + previous_surprisal + previous_2_surprisal"


def test_surprisals_in_another_order_are_refused():
    times, words, unigrams, tables = regression_tables({"one": np.arange(6.0)})
    turned = {"one": tables["one"][::-1]}
    with pytest.raises(LingprobError, match="'one': surprisals of 6 words for a text of 6"):
        regression_frame(times, words, unigrams, turned)


def test_a_predictor_that_differs_by_rounding_alone_is_constant():
    """The limit grows with the mean: 1e-3 at 1e9; at 0.1 it is 1e-12."""
    frame = pd.DataFrame(
        {"partition": "fit", "x": [1e9, 1e9 + 1e-4] * 5, "y": [0.1, 0.1 + 1e-9] * 5}
    )
    with pytest.raises(LingprobError, match="'x' is 1e\\+09 in every row"):
        standardised(frame, ["x"])
    assert standardised(frame, ["y"])["y"].abs().round(6).nunique() == 1


def test_perplexity_by_word_is_corrected_or_not_and_by_token_never():
    table = pd.DataFrame(
        {"surprisal": [np.nan, 2.0, 4.0, 6.0], "surprisal_uncorrected": [np.nan, 1.0, 6.0, 2.0],
         "n_tokens": [1, 1, 3, None]}
    )  # fmt: skip
    assert perplexity(table) == (2**4.0, 2 ** (7 / 4))
    assert perplexity(table, corrected=False) == (2**3.0, 2 ** (7 / 4))
