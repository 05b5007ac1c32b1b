"""Scoring tables in shards: the schema, errors before any work, and resuming after a kill."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

from lingprob.errors import LingprobError
from lingprob.io.shards import Shards
from lingprob.io.tables import read_table, write_table
from lingprob.models.loading import load_language_model
from lingprob.scoring.engine import Scorer, shard_ranges
from lingprob.scoring.stimuli import score_stimuli
from models_for_tests import SENTENCES, passes, save_tiny_model

TEXTS = [f"{sentence} {i}" for i in range(8) for sentence in SENTENCES] + list(SENTENCES[:2]) * 2
ITEMS = [f"item{i}" for i in range(len(TEXTS))]


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    return load_language_model(save_tiny_model("gpt_neox", tmp_path_factory.mktemp("model")))


def score(language_model, shard_directory, texts=TEXTS, items=ITEMS, start_token="bos", **options):
    shards = Shards(shard_directory, options.pop("identity", "tiny"))
    options = {"sentences_per_shard": 10, "dataset": "toy", "shards": shards, **options}
    return score_stimuli(Scorer(language_model), items, texts, start_token, **options)


def forwards(language_model, call):
    """Return the value of a call, and how often it ran the model."""
    with passes(language_model.model.base_model) as fed:
        return call(), len(fed)


def test_the_table_holds_every_token_of_every_item(language_model, tmp_path):
    table = score(language_model, tmp_path / "shards", start_token="none")
    write_table(table, "scores", tmp_path / "scores.parquet")
    stored = read_table(tmp_path / "scores.parquet", "scores")
    assert list(dict.fromkeys(stored["item_id"])) == ITEMS
    for item, text in zip(ITEMS, TEXTS, strict=True):
        rows = stored[stored["item_id"] == item]
        (tokens,) = language_model.tokenize([text])
        assert rows["token_index"].tolist() == list(range(len(tokens.ids)))
        assert rows["token_id"].tolist() == tokens.ids.tolist()
        assert rows["char_start"].tolist() == tokens.char_start.tolist()
        assert rows["char_end"].tolist() == tokens.char_end.tolist()
        assert rows["scored"].tolist() == [False] + [True] * (len(tokens.ids) - 1)
        assert rows["logprob"].isna().tolist() == [True] + [False] * (len(tokens.ids) - 1)
        (expected,) = Scorer(language_model).score([tokens.ids], None)
        np.testing.assert_allclose(rows["logprob"], expected, atol=1e-5)


def test_texts_are_read_through_the_context_window(language_model):
    text = " ".join(SENTENCES[:3])
    (tokens,) = language_model.tokenize([text])
    assert len(tokens.ids) > 16
    start_id = language_model.start_id("bos")
    narrow = replace(language_model, context_window=8)
    table = score(narrow, None, [text], ["long"])
    (expected,) = Scorer(language_model).score([tokens.ids], start_id, window=8, stride=4)
    np.testing.assert_allclose(table["logprob"], expected, atol=1e-5)
    (whole,) = Scorer(language_model).score([tokens.ids], start_id)
    assert not np.allclose(whole, expected, atol=1e-3)


@pytest.mark.parametrize(
    "change",
    [{"identity": "x"}, {"start_token": "eos"}, {"context_window": 8}, {"dtype": torch.float64}],
)
def test_shards_of_another_setting_are_not_used(language_model, tmp_path, change):
    score(language_model, tmp_path)
    of_model = {name: value for name, value in change.items() if hasattr(language_model, name)}
    lm = replace(language_model, **of_model)
    change = {name: value for name, value in change.items() if name not in of_model}
    changed, runs = forwards(lm, lambda: score(lm, tmp_path, **change))
    assert runs > 0
    fresh = score(lm, tmp_path / "fresh", **change)
    pd.testing.assert_frame_equal(changed, fresh, check_exact=True)


@pytest.mark.parametrize(
    ("text", "start_token", "message"),
    [
        ("", "bos", r"'toy', row 3, item_id 'item3': the tokenizer has no token"),
        ("a", "none", r"'toy', row 3, item_id 'item3': 'a' is a single token.*bos"),
    ],
)
def test_sentences_without_a_score_are_refused_first(
    language_model, tmp_path, text, start_token, message
):
    texts = [*TEXTS[:3], text, *TEXTS[4:]]

    def call():
        with pytest.raises(LingprobError, match=message):
            score(language_model, tmp_path / "shards", texts=texts, start_token=start_token)

    assert forwards(language_model, call)[1] == 0
    assert not (tmp_path / "shards").exists()


@pytest.mark.parametrize("damage", ["cut", "emptied", "flipped"])
def test_a_damaged_shard_is_made_again(language_model, tmp_path, caplog, damage):
    """Cut short, or with bytes that are others in the middle of its numbers."""
    whole = score(language_model, tmp_path)
    damaged = sorted(tmp_path.glob("*.parquet"))[0]
    content = damaged.read_bytes()
    flipped = content[:60] + bytes(byte ^ 255 for byte in content[60:70]) + content[70:]
    damaged.write_bytes({"cut": content[:50], "emptied": b"", "flipped": flipped}[damage])
    again, runs = forwards(language_model, lambda: score(language_model, tmp_path))
    assert runs > 0
    assert f"{damaged}: a damaged shard" in caplog.text
    pd.testing.assert_frame_equal(again, whole, check_exact=True)
    assert forwards(language_model, lambda: score(language_model, tmp_path))[1] == 0


@pytest.mark.parametrize(
    ("items", "most", "sizes"),
    [(600, 500, [150] * 4), (60, 20, [15] * 4), (1001, 250, [125] * 7 + [126]),
     (74, 500, [37, 37]), (49, 500, [49]), (9, 4, [2, 2, 2, 3]), (3, 20, [1, 1, 1]), (0, 500, [])],
)  # fmt: skip
def test_workers_share_the_work_evenly(items, most, sizes):
    ranges = shard_ranges(items, most)
    assert [number for one in ranges for number in one] == [*range(items)]
    assert [len(one) for one in ranges] == sizes


@pytest.mark.parametrize("window", [None, 4])
def test_progress_counts_each_sequence_once(language_model, window):
    """In several steps; repeated sequences and those without a token to score count as well."""
    sequences = [one.ids for one in language_model.tokenize([*TEXTS[:12], TEXTS[0], "a"])]
    counted = []
    progress = SimpleNamespace(advance=counted.append)
    scorer = Scorer(language_model, 32)
    scorer.score([*sequences, sequences[0][:1]], None, window=window, progress=progress)
    assert sum(counted) == len(sequences) + 1
    assert len(counted) > 3
