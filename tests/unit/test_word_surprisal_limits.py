"""Word surprisals where an option is left out or a limit met: windows, batches, files, unigrams."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.models.loading import LanguageModel, Tokens, load_language_model
from lingprob.reading.imported import import_word_surprisals
from lingprob.reading.predictors import unigram_surprisal
from lingprob.reading.surprisal import (
    _batches,
    blank_tokens,
    check_vocabulary,
    token_word_index,
    word_surprisals,
)
from lingprob.unigrams.counts import count_words
from models_for_tests import save_tiny_model
from words_for_tests import words_of

TEXT = "Who did Mary say that John saw? The cats sat on the mats."


@pytest.fixture(scope="module")
def lm(tmp_path_factory: pytest.TempPathFactory) -> LanguageModel:
    directory = save_tiny_model("gpt_neox", tmp_path_factory.mktemp("tiny"))
    return load_language_model(directory, device="cpu")


@pytest.mark.parametrize(("counts", "fed"), [("predicted", 15), ("fed", 16)])
def test_a_window_may_be_shorter_than_the_model_s(lm, counts, fed):
    """Of sixteen tokens of the model's 64, and eight from one to the next."""
    table = word_surprisals(lm, words_of(TEXT), start_token="bos", window=16, window_counts=counts)
    ids = np.array([0, *lm.tokenize([TEXT])[0].ids])
    nats = []
    for place in range(1, len(ids)):
        start = 0
        while place - start > fed:
            start += 8
        logits = lm.model(torch.from_numpy(ids[None, start:place])).logits[0, -1].double()
        nats.append(-logits.log_softmax(-1)[ids[place]].item())
    ends = table["n_tokens"].cumsum().to_numpy()
    expected = np.add.reduceat(nats, np.append(0, ends[:-1])) / np.log(2)
    assert table["surprisal_uncorrected"].to_numpy() == pytest.approx(expected, abs=1e-4)
    assert len(ids) > 16 + 8


def test_a_passage_of_one_token_has_its_surprisal(lm):
    table = word_surprisals(lm, words_of("x", TEXT), start_token="bos")
    assert list(table) == [
        "passage_id", "word_index", "surprisal", "surprisal_uncorrected", "n_tokens"
    ]  # fmt: skip
    assert table["n_tokens"].iloc[0] == 1
    logprobs = lm.model(torch.tensor([[0]])).logits[0, 0].double().log_softmax(-1)
    (found,) = lm.tokenize(["x"])
    expected = -logprobs[found.ids[0]].item() / np.log(2)
    assert table["surprisal_uncorrected"].iloc[0] == pytest.approx(expected, abs=1e-4)


def test_batches_end_with_the_passage_that_fills_them(monkeypatch):
    monkeypatch.setattr("lingprob.reading.surprisal.TOKENS_PER_BATCH_OF_PASSAGES", 5)
    lengths = [3, 2, 4, 7, 1]
    found = [[len(ids) for ids in batch] for batch in _batches([np.arange(n) for n in lengths])]
    assert found == [[3, 2], [4, 7], [1]]


def test_finished_passages_are_read_from_their_folder_alone(lm, tmp_path, monkeypatch):
    words = words_of(TEXT)
    kept: dict[str, Any] = {"shard_directory": tmp_path, "identity": "x"}
    word_surprisals(lm, words, start_token="bos", **kept)
    (path,) = tmp_path.glob("*.npz")
    monkeypatch.chdir(tmp_path)

    class Scored(Exception):
        """What is scored is not read."""

    def score(*_: Any, **__: Any) -> None:
        raise Scored

    with monkeypatch.context() as patched:
        patched.setattr("lingprob.reading.surprisal.Scorer.score", score)
        word_surprisals(lm, words, start_token="bos", **kept)
        with pytest.raises(Scored):
            word_surprisals(lm, words, start_token="bos", identity="x")
        # A file of objects, which nobody here wrote, is not read either.
        np.savez(path, **{"00000000": np.array([{}], dtype=object)})
        with pytest.raises(Scored):
            word_surprisals(lm, words, start_token="bos", **kept)


def test_a_token_that_takes_the_blank_after_its_word_along_spans_two_words():
    found = Tokens(np.arange(2), np.array([0, 3]), np.array([3, 5]))
    with pytest.raises(LingprobError, match="a token spans the end of the word before 'be'"):
        token_word_index(["to", "be"], found, "passage 'p'")


class Odd:
    """A tokenizer with an id without a token, an empty one, and a special one behind a blank."""

    all_special_ids = (2,)

    def __len__(self) -> int:
        return 6

    def convert_ids_to_tokens(self, ids: list[int]) -> list[str | None]:
        return ["a", None, "Ġs", "Ġb", "", "▁c"][: len(ids)]


def test_special_tokens_and_ids_without_a_token_begin_with_no_blank():
    assert blank_tokens(Odd(), 9).tolist() == [3, 5]
    assert blank_tokens(Odd(), 5).tolist() == [3]


@pytest.mark.parametrize("unknown", [None, 7])
def test_a_text_of_known_words_needs_no_token_for_others(unknown):
    class Known:
        unk_token_id, unk_token = unknown, "?"

    found = Tokens(np.array([3, 4]), np.array([0, 2]), np.array([2, 5]))
    check_vocabulary(Known(), [object()], [found])


def test_of_a_file_of_one_text_no_column_says_which_it_is(tmp_path):
    """Nothing may be surprising, and other passages without words do not count."""
    words = words_of("So what?", "No.")
    path = tmp_path / "s.json"
    path.write_text(json.dumps({"1": [1, 0.0], "2": [[2]], "3": []}))
    found = import_word_surprisals(path, words, text="mine", texts_in_file=["mine"])
    assert found["surprisal"].tolist() == [1, 0, 2]
    table = tmp_path / "s.csv"
    table.write_text("passage_id,word_index,surprisal\n1,0,1\n1,1,0\n2,0,2\n")
    found = import_word_surprisals(table, words, text="mine", texts_in_file=["mine"])
    assert found["surprisal"].tolist() == [1, 0, 2]


def test_word_counts_fall_and_of_equal_ones_the_words_rise():
    assert count_words(["b a c", "c"]).to_numpy().tolist() == [["c", 2], ["a", 1], ["b", 1]]


def test_unigrams_are_smoothed_by_one_unless_told_otherwise():
    """Of four words and three forms, and one more form for those not seen."""
    counts, words = [count_words(["b a c", "c"])], pd.Series(["c", "d"])
    assert unigram_surprisal(words, counts) == pytest.approx(-np.log2([3 / 8, 1 / 8]))
    assert unigram_surprisal(words, counts, 0.5) == pytest.approx(-np.log2([2.5 / 6, 0.5 / 6]))
    assert unigram_surprisal(words[:1], counts, 0) == pytest.approx([1.0])
