"""Sentence scores: sums by hand, conventions, imported scores."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.scoring.imported import import_sentence_scores, import_token_scores
from lingprob.scoring.sentences import summarise_sentences

STIMULI = pd.DataFrame({"item_id": ["a", "b"], "text": ["one two three", "four five"]})
POLICIES = {
    "none": {"start_token": "none", "first_token": "excluded"},
    "bos": {"start_token": "bos", "first_token": "scored"},
    "bos_first_excluded": {"start_token": "bos", "first_token": "excluded"},
}


def tokens(first: float | None) -> pd.DataFrame:
    """Sentence a has tokens 5, 6, 5 and b has 6, 7; `first` is each first token's score."""
    return pd.DataFrame(
        {
            "item_id": ["a", "a", "a", "b", "b"],
            "token_index": [0, 1, 2, 0, 1],
            "token_id": [5, 6, 5, 6, 7],
            "logprob": np.array([first, -2.0, -3.0, first, -4.0], dtype="float32"),
            "scored": [first is not None, True, True, first is not None, True],
        }
    )


SCORES = {"none": tokens(None), "bos": tokens(-10.0)}
UNIGRAMS = {"u": pd.Series({5: -1.0, 6: -0.5, 7: -0.25})}


def test_sums_and_lengths_by_hand():
    table = summarise_sentences(STIMULI, SCORES, POLICIES, UNIGRAMS).set_index(["bos", "item_id"])
    expected = {
        ("none", "a"): (-5.0, -1.5, 2, 3),
        ("none", "b"): (-4.0, -0.25, 1, 2),
        ("bos", "a"): (-15.0, -2.5, 3, 3),
        ("bos", "b"): (-14.0, -0.75, 2, 2),
        ("bos_first_excluded", "a"): (-5.0, -1.5, 2, 3),
        ("bos_first_excluded", "b"): (-4.0, -0.25, 1, 2),
    }
    columns = ["logprob", "unigram_logprob", "n_tokens", "n_words"]
    for key, values in expected.items():
        assert tuple(table.loc[key, columns]) == values
    assert len(table) == len(expected)


def test_without_unigrams_the_sums_remain():
    table = summarise_sentences(STIMULI, SCORES, {"bos": POLICIES["bos"]}, {})
    assert table["logprob"].tolist() == [-15.0, -14.0]
    assert table["unigram_logprob"].isna().all()
    assert set(table["unigrams"]) == {"imported"}


def test_a_sentence_without_a_scored_token_is_named():
    one_token = SCORES["none"][SCORES["none"]["token_index"] == 0]
    with pytest.raises(LingprobError, match=r"item 'a': no scored token under BOS policy 'none'"):
        summarise_sentences(STIMULI, {"none": one_token}, {"none": POLICIES["none"]}, UNIGRAMS)


def test_unigrams_of_another_tokenizer_are_refused():
    with pytest.raises(LingprobError, match=r"'u' has no log-probability for token id 7"):
        summarise_sentences(STIMULI, SCORES, POLICIES, {"u": UNIGRAMS["u"].drop(7)})


def test_imported_sentences_by_id_or_by_text(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("item_id,logprob,n_tokens\nb,-4,2\na,-5,3\n")
    by_id = import_sentence_scores(path, STIMULI)
    assert by_id["logprob"].tolist() == [-5, -4]
    assert by_id["unigram_logprob"].isna().all()
    path.write_text(
        "sentence,logprob,n_tokens,unigram_logprob\nfour five,-4,2,-9\none two three,-5,3,-8\n"
    )
    by_text = import_sentence_scores(path, STIMULI)
    assert by_text["unigram_logprob"].tolist() == [-8, -9]
    assert by_text["n_words"].tolist() == [3, 2]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("item_id,logprob,n_tokens\na,-5,3\n", "no score for item 'b'"),
        ("item_id,logprob\na,-5\nb,-4\n", r"no columns \['n_tokens'\]"),
        ("item_id,logprob,n_tokens\na,-5,3\nb,x,2\n", "data row 2, column 'logprob'"),
        ("item_id,logprob,n_tokens\na,-5,3\na,-5,3\nb,-4,2\n", "item 'a' occurs twice"),
        ("item_id,logprob,n_tokens\na,-5,0\nb,-4,2\n", "'n_tokens': a value below 1"),
    ],
)
def test_bad_imported_scores_are_named(tmp_path, text, said):
    path = tmp_path / "scores.csv"
    path.write_text(text)
    with pytest.raises(LingprobError, match=said):
        import_sentence_scores(path, STIMULI)


def test_imported_tokens_give_the_same_sentences_as_our_own(tmp_path):
    path = tmp_path / "tokens.csv"
    own = SCORES["bos"]
    own.sample(frac=1, random_state=0).drop(columns="scored").to_csv(path, index=False)
    imported = import_token_scores(path, STIMULI)
    policy = {"bos": POLICIES["bos"]}
    ours = summarise_sentences(STIMULI, {"bos": own}, policy, UNIGRAMS)
    theirs = summarise_sentences(STIMULI, {"bos": imported}, policy, UNIGRAMS)
    pd.testing.assert_frame_equal(ours, theirs)
