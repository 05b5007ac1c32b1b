"""Computing jobs contact no server, and their models are those that were downloaded."""

import socket

import pytest
import torch
from transformers import BertConfig, BertModel

from lingprob.io.shards import Shards
from lingprob.models.loading import load_language_model
from lingprob.pairs.embeddings import SentenceEmbedder
from lingprob.scoring.engine import Scorer
from lingprob.scoring.stimuli import score_stimuli
from models_for_tests import SENTENCES, VOCABULARY_SIZE, save_tiny_model, save_tiny_tokenizer


@pytest.fixture
def asked(monkeypatch) -> list[object]:
    """The names and addresses that are asked for, all in vain."""
    tried: list[object] = []

    def refuse(*arguments: object, **_: object) -> None:
        tried.append(arguments[-2:])
        raise OSError("no network here")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return tried


def test_a_request_would_be_noticed(asked):
    with pytest.raises(OSError, match="no network here"):
        socket.create_connection(("localhost", 1))
    assert asked


@pytest.mark.parametrize("family", ["gpt_neox", "opt", "gpt2", "llama"])
def test_a_prepared_model_scores_without_network(family, tmp_path, asked):
    lm = load_language_model(save_tiny_model(family, tmp_path), device="cpu")
    ids = [f"i{number}" for number in range(len(SENTENCES))]
    scores = score_stimuli(
        Scorer(lm), ids, SENTENCES, "bos", dataset="toy", shards=Shards(tmp_path / "s", "tiny")
    )
    assert set(scores["item_id"]) == set(ids)
    assert asked == []


def test_a_prepared_embedding_model_reads_without_network(tmp_path, asked):
    save_tiny_tokenizer(tmp_path)
    config = BertConfig(
        vocab_size=VOCABULARY_SIZE, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=32, max_position_embeddings=64,
    )  # fmt: skip
    torch.manual_seed(0)
    BertModel(config).save_pretrained(tmp_path)
    assert len(SentenceEmbedder(tmp_path, context_window=64)(SENTENCES)) == len(SENTENCES)
    assert asked == []
