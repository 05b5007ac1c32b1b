"""Chinese from file to tables: real ZhoBLiMP and SLING, the real tokenizer, tiny random models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import BertConfig, BertModel, GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from lingprob.catalog import Catalog
from lingprob.io.shards import Shards
from lingprob.models.loading import load_language_model
from lingprob.pairs.embeddings import SentenceEmbedder
from lingprob.papers.string_probability.analysis import analyse
from lingprob.papers.string_probability.data import Options, assemble
from lingprob.scoring.engine import Scorer
from lingprob.scoring.sentences import summarise_sentences
from lingprob.scoring.stimuli import score_stimuli
from lingprob.stimuli.build import build_stimuli, sample_pairs
from lingprob.stimuli.distances import EditFilter, measure_pairs

PAIRS = {"zhoblimp": 118, "sling": 120}
SPECIAL = {name: f"[{name[:-6].upper()}]" for name in
           ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")}  # fmt: skip


@pytest.fixture(scope="module")
def models(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders `lm` and `embedding`: random models with the tokenizer of GPT-2 Chinese."""
    vocabulary = mirror / "tokenizers/uer-gpt2-chinese/google_zh_vocab.txt"
    if not vocabulary.exists():
        pytest.skip(f"the mirror has no {vocabulary}")
    folder = tmp_path_factory.mktemp("chinese")
    size = len(vocabulary.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    torch.manual_seed(0)
    causal = GPT2LMHeadModel(
        GPT2Config(vocab_size=size, n_embd=16, n_layer=1, n_head=2, n_positions=128)
    )
    with torch.no_grad():
        causal.transformer.wte.weight.mul_(40)
    causal.save_pretrained(folder / "lm")
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    BertModel(BertConfig(vocab_size=size, intermediate_size=32, **shape)).save_pretrained(
        folder / "embedding"
    )
    fast = PreTrainedTokenizerFast(
        tokenizer_object=BertWordPieceTokenizer(str(vocabulary), lowercase=True)._tokenizer,
        **SPECIAL,
    )
    for name in ("lm", "embedding"):
        fast.save_pretrained(folder / name)
    return folder


def stimuli_of(mirror: Path, dataset: str) -> pd.DataFrame:
    folder = mirror / dataset
    return build_stimuli(dataset, Catalog().dataset(dataset), folder, 0)[0]


@pytest.fixture(scope="module")
def samples(mirror: Path) -> dict[str, pd.DataFrame]:
    return {
        name: sample_pairs(stimuli_of(mirror, name), pairs, seed=1) for name, pairs in PAIRS.items()
    }


def test_every_paradigm_is_in_the_sample(samples):
    assert samples["zhoblimp"]["paradigm"].value_counts().eq(2).all()
    assert samples["zhoblimp"]["paradigm"].nunique() == 118
    assert samples["sling"]["paradigm"].value_counts().eq(6).all()
    assert samples["sling"]["paradigm"].nunique() == 40


def test_a_character_is_a_token_and_none_is_unknown(models, samples):
    """The vocabulary is of single characters; offsets are of characters, not bytes."""
    lm = load_language_model(models / "lm", device="cpu", dtype="float32")
    texts = samples["zhoblimp"]["text"].tolist()
    unknown = lm.tokenizer.unk_token_id
    tokens = lm.tokenize(texts)
    share = np.mean([np.mean(one.ids == unknown) for one in tokens])
    assert share < 0.001
    for text, one in zip(texts, tokens, strict=True):
        if text.isascii() or not len(one.ids):
            continue
        pieces = [text[a:b] for a, b in zip(one.char_start, one.char_end, strict=True)]
        assert "".join(pieces) == text.replace(" ", "")


def scored(models: Path, stimuli: pd.DataFrame, folder: Path) -> pd.DataFrame:
    """Sentence scores after [CLS], with unigrams that are the same for every token."""
    lm = load_language_model(models / "lm", device="cpu", dtype="float32")
    tokens = score_stimuli(
        Scorer(lm, 4096), stimuli["item_id"].tolist(), stimuli["text"].tolist(), "[CLS]",
        shards=Shards(folder, "tiny"), sentences_per_shard=500, dataset="chinese",
    )  # fmt: skip
    uniform = pd.Series(-np.log(lm.vocabulary_size), index=range(lm.vocabulary_size))
    policy = {"cls": {"start_token": "cls", "first_token": "scored"}}
    return summarise_sentences(stimuli, {"cls": tokens}, policy, {"uniform": uniform})


def test_the_analyses_run_on_both_data_sets(models, samples, tmp_path):
    embed = SentenceEmbedder(models / "embedding", 512)
    reading = EditFilter(comparison="below", population="all")
    options = Options(20, "pairs", 1, "laptop", reading)
    distances = {name: measure_pairs(table, name, embed) for name, table in samples.items()}
    scores = [scored(models, table, tmp_path / name) for name, table in samples.items()]
    datasets = assemble(
        {"zhoblimp": [1, 3], "sling": [1]}, list(samples.values()), scores, distances,
        convention=("cls", "uniform"),
    )  # fmt: skip
    tables = analyse("tiny", datasets, [], 21_128, options)
    overall = tables["string_correlations"].query("subset == 'overall'").set_index("dataset")
    assert overall["n"].to_dict() == PAIRS
    # A random model scores by characters, which the two sentences of a pair mostly share.
    assert (overall["r"] > 0.5).all()
    bins = tables["string_correlations"].query("subset == 'bin' and dataset == 'sling'")
    assert bins["n"].tolist() == [12] * 10
    # Uniform unigrams make the two Bayes factors the same.
    table = tables["string_scores"]
    np.testing.assert_allclose(table["uniform_bayes_factor"], table["unigram_bayes_factor"])
    assert set(tables["string_separation"]["dataset"]) == {"zhoblimp"}
