"""Chinese sentences of ZhoBLiMP and SLING, sampled and split by a real tokenizer."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tokenizers.implementations import BertWordPieceTokenizer
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

from lingprob.catalog import Catalog
from lingprob.models.loading import load_language_model
from lingprob.stimuli.build import build_stimuli, sample_pairs

PAIRS = {"zhoblimp": 118, "sling": 120}
SPECIAL = {name: f"[{name[:-6].upper()}]" for name in
           ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")}  # fmt: skip


@pytest.fixture(scope="module")
def folder(mirror: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random model with the tokenizer of GPT-2 Chinese."""
    vocabulary = mirror / "tokenizers/uer-gpt2-chinese/google_zh_vocab.txt"
    if not vocabulary.exists():
        pytest.skip(f"the mirror has no {vocabulary}")
    folder = tmp_path_factory.mktemp("chinese")
    size = len(vocabulary.read_text(encoding="utf-8").rstrip("\n").split("\n"))
    config = GPT2Config(vocab_size=size, n_embd=16, n_layer=1, n_head=2, n_positions=128)
    GPT2LMHeadModel(config).save_pretrained(folder)
    tokenizer = BertWordPieceTokenizer(str(vocabulary), lowercase=True)._tokenizer
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **SPECIAL).save_pretrained(folder)
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


def test_a_character_is_a_token(folder, samples):
    """The vocabulary has single characters, and offsets count characters, not bytes."""
    lm = load_language_model(folder, device="cpu", dtype="float32")
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
