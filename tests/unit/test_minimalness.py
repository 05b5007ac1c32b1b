"""Distances within pairs, bins and the filter by edit distance."""

from __future__ import annotations

import zipfile
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch
from transformers import AutoTokenizer, BertConfig, BertModel

from lingprob.errors import LingprobError
from lingprob.models.downloads import extract_folder
from lingprob.pairs import embeddings
from lingprob.pairs.embeddings import SentenceEmbedder
from lingprob.stimuli.distances import (
    EditFilter,
    edit_threshold,
    equal_bins,
    measure_pairs,
    pair_texts,
    pairs_in_use,
)
from models_for_tests import VOCABULARY_SIZE, save_tiny_tokenizer


def stimuli(*pairs: tuple[str, str]) -> pd.DataFrame:
    rows = [
        {"pair_id": str(number), "grammatical": side == 0, "text": pair[side]}
        for number, pair in enumerate(pairs)
        for side in (0, 1)
    ]
    return pd.DataFrame(rows)


def test_edits_and_cosine_by_hand():
    vectors = {"a b": [1, 0], "a c": [0.6, 0.8], "we": [0, 1]}

    def embed(texts):
        assert sorted(texts) == sorted(vectors)
        return np.array([vectors[text] for text in texts], dtype=np.float32)

    table = measure_pairs(stimuli(("a b", "a c"), ("we", "a b"), ("we", "we")), "mine", embed)
    assert list(table["levenshtein_characters"]) == [1, 3, 0]
    assert list(table["levenshtein_words"]) == [1, 2, 0]
    np.testing.assert_allclose(table["cosine_distance"], [0.4, 1.0, 0.0], atol=1e-7)


def test_a_pair_is_one_of_each():
    table = stimuli(("a", "b"), ("c", "d"))
    with pytest.raises(LingprobError, match="'mine', pair '1': 0 ungrammatical sentences"):
        pair_texts(table.iloc[:3], "mine")
    with pytest.raises(LingprobError, match="pair '0': 2 grammatical"):
        pair_texts(table.assign(grammatical=[True, True, True, False]), "mine")
    single = pd.DataFrame({"pair_id": [None], "grammatical": [True], "text": ["alone"]})
    assert pair_texts(pd.concat([table, single]), "mine").index.tolist() == ["0", "1"]


def test_sentences_without_pairs_have_no_distances():
    alone = stimuli(("a", "b")).assign(pair_id=None)
    with pytest.raises(LingprobError, match=r"'mine': no pairs.*string_probability\.prediction_1"):
        measure_pairs(alone, "mine", lambda texts: np.ones((len(texts), 1)))


def test_bins_differ_by_one_at_most_and_are_in_order():
    values = pd.Series(np.random.default_rng(0).random(103), index=range(5, 108))
    bins = equal_bins(values, 10)
    sizes = bins.value_counts()
    assert set(sizes) == {10, 11}
    ranges = [(values[bins == b].min(), values[bins == b].max()) for b in range(1, 11)]
    assert all(low[1] < high[0] for low, high in pairwise(ranges))
    assert equal_bins(pd.Series([0.0] * 4), 2).tolist() == [1, 1, 2, 2]


def rated_pairs(edits: list[int], ratings: list[float | None]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Stimuli and distances of pairs p0, p1 ...; of the last the two sentences are the same."""
    ids = [f"p{number}" for number in range(len(edits))]
    stimuli = pd.DataFrame(
        {
            "pair_id": np.repeat(ids, 2),
            "grammatical": [True, False] * len(ids),
            "text": [f"text {n}" for n in range(2 * len(ids) - 2)] + ["same", "same"],
            "rating": [one for rating in ratings for one in (0.5, rating)],
        }
    )
    return stimuli, pd.DataFrame({"pair_id": ids, "levenshtein_characters": edits})


def test_the_filter_keeps_what_its_reading_says():
    """Of all six pairs the 75th percentile is 6.25, of the five rated ones 4; p5 is no pair."""
    stimuli, distances = rated_pairs([1, 2, 4, 9, 7, 0], [0.0, 0.0, 0.0, None, 0.0, 0.0])
    kept = {}
    for population in ("rated", "all"):
        for comparison in ("below", "at_most"):
            reading = EditFilter("characters", 0.75, comparison, population)
            found = pairs_in_use(stimuli, "mine", distances, reading)
            threshold = edit_threshold(stimuli, distances, reading)
            kept[population, comparison] = (threshold, "".join(found))
    assert kept == {
        ("rated", "below"): (4.0, "p0p1"),
        ("rated", "at_most"): (4.0, "p0p1p2"),
        ("all", "below"): (6.25, "p0p1p2"),
        ("all", "at_most"): (6.25, "p0p1p2"),
    }


def test_of_rated_pairs_are_those_that_the_stimuli_have():
    """A pair that they lack has no rating; it counts among all that have distances."""
    stimuli, distances = rated_pairs([1, 2, 4, 0], [0.0, 0.0, 0.0, 0.0])
    distances.loc[len(distances)] = ["elsewhere", 100]
    for population, median in (("rated", 1.5), ("all", 2.0)):
        reading = EditFilter("characters", 0.5, "below", population)
        assert edit_threshold(stimuli, distances, reading) == median


def test_pairs_in_use_are_of_two_sentences_and_near_where_distances_are_given():
    stimuli, distances = rated_pairs([1, 2, 4, 9, 7, 0], [0.0, 0.0, 0.0, None, 0.0, 0.0])
    reading = EditFilter("characters", 0.75, "below", "rated")
    assert "".join(pairs_in_use(stimuli, "mine", None, reading)) == "p0p1p2p3p4"
    assert "".join(pairs_in_use(stimuli, "mine", distances, reading)) == "p0p1"


def test_a_filter_of_rated_pairs_needs_some():
    stimuli, distances = rated_pairs([1, 2], [None, None])
    reading = EditFilter("characters", 0.75, "at_most", "rated")
    with pytest.raises(LingprobError, match="prediction_2"):
        edit_threshold(stimuli, distances, reading)


def test_an_embedding_is_the_mean_over_tokens_whatever_the_batch(tmp_path, monkeypatch):
    save_tiny_tokenizer(tmp_path)
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=VOCABULARY_SIZE, hidden_size=16, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64, pad_token_id=tokenizer.pad_token_id,
    )  # fmt: skip
    model = BertModel(config).eval()
    model.save_pretrained(tmp_path)
    texts = ["The cat sat on the mat.", "Who?", "No student has ever seen any of these films."]
    for window, batch in ((64, 128), (64, 2), (5, 2)):  # the last cuts a text
        monkeypatch.setattr(embeddings, "BATCH", batch)
        embedded = SentenceEmbedder(tmp_path, context_window=window)(texts)
        for text, vector in zip(texts, embedded, strict=True):
            ids = torch.tensor([tokenizer(text)["input_ids"][:window]])
            with torch.no_grad():
                mean = model(input_ids=ids).last_hidden_state[0].mean(dim=0)
            np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


class Moved:
    """A model that goes wherever it is sent."""

    def to(self, device: torch.device) -> Moved:
        return self

    def eval(self) -> None:
        pass


@pytest.mark.parametrize(
    ("asked", "has_gpu", "device"),
    [("auto", True, "cuda"), ("auto", False, "cpu"), ("cpu", True, "cpu")],
)
def test_sentences_are_embedded_on_a_gpu_where_there_is_one(monkeypatch, asked, has_gpu, device):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: has_gpu)
    monkeypatch.setattr(embeddings, "check_folder", lambda folder, what: None)
    for name in ("AutoTokenizer", "AutoModel"):
        stand_in = SimpleNamespace(from_pretrained=lambda *_, **__: Moved())
        monkeypatch.setattr(embeddings, name, stand_in)
    assert SentenceEmbedder("folder", 64, asked).device.type == device


def test_a_directory_without_a_model_is_named(tmp_path):
    with pytest.raises(LingprobError, match="no embedding model there"):
        SentenceEmbedder(tmp_path, 64)


def test_of_an_archive_the_model_s_own_folder_is_taken_and_nothing_below_it(tmp_path):
    archive, target = tmp_path / "model.zip", tmp_path / "model"
    target.mkdir()
    with zipfile.ZipFile(archive, "w") as opened:
        for name in ("m/config.json", "m/vocab.txt", "m/run.py", "m/deep/config.json", "x.json"):
            opened.writestr(name, name)
    extract_folder(archive, "m", target)
    assert {path.name: path.read_text() for path in target.iterdir()} == {
        "config.json": "m/config.json",
        "vocab.txt": "m/vocab.txt",
    }
    archive.write_bytes(archive.read_bytes()[:-30])
    with pytest.raises(LingprobError, match=r"model\.zip: not a whole zip file"):
        extract_folder(archive, "m", target)
