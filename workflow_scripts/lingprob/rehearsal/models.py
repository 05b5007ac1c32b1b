"""Tiny random models of the architectures that the catalog's models have."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MPNetConfig,
    OPTConfig,
    PreTrainedConfig,
)

from lingprob.rehearsal.prose import generator
from lingprob.rehearsal.tokenizers import tokenizer_of

WIDTH, LAYERS, HEADS = 8, 2, 2
KINDS = {"next": AutoModelForCausalLM, "masked": AutoModelForMaskedLM, "nothing": AutoModel}
SPREAD = 0.2  # of random weights: predictions are far from uniform


def configuration(
    architecture: str, vocabulary: int, context_window: int, special: dict[str, int]
) -> PreTrainedConfig:
    """Return the configuration of a tiny model: a few thousand weights beside its embeddings.

    Args:
        architecture: transformers' name of it.
        vocabulary: number of logits.
        context_window: tokens that it can see.
        special: ids such as bos_token_id.
    """
    common = {"vocab_size": vocabulary, "hidden_size": WIDTH, "num_hidden_layers": LAYERS}
    common |= {"num_attention_heads": HEADS, "max_position_embeddings": context_window, **special}
    wide = {**common, "intermediate_size": 2 * WIDTH}
    gpt2 = {"n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": context_window}
    configurations = {
        "gpt_neox": lambda: GPTNeoXConfig(**wide),
        "opt": lambda: OPTConfig(**common, ffn_dim=2 * WIDTH, word_embed_proj_dim=WIDTH),
        "gpt2": lambda: GPT2Config(vocab_size=vocabulary, **gpt2, **special),
        "llama": lambda: LlamaConfig(**wide, num_key_value_heads=HEADS, tie_word_embeddings=True),
        "bert": lambda: BertConfig(**wide),
        # Its positions begin after the padding's.
        "mpnet": lambda: MPNetConfig(**{**wide, "max_position_embeddings": context_window + 2}),
    }
    return configurations[architecture]()


def make_model(name: str, stand_in: dict[str, Any], directory: Path) -> None:
    """Write a random model with its tokenizer, as transformers saves them.

    Args:
        name: of the catalog's model; the weights depend on it alone.
        stand_in: `architecture`, `context_window`, `tokenizer` (as in catalog/rehearsal.yaml) and
            what it `predicts`: the next token, masked ones, or (a sentence embedding) nothing.
        directory: of the files.
    """
    shutil.rmtree(directory, ignore_errors=True)
    tokenizer = tokenizer_of(stand_in["tokenizer"], directory / "tokenizer-files")
    keys = ("bos_token_id", "eos_token_id", "pad_token_id")
    ids = {key: getattr(tokenizer, key) for key in keys}
    torch.manual_seed(int(generator(name).integers(2**31)))
    config = configuration(
        stand_in["architecture"],
        stand_in["tokenizer"].get("logits") or len(tokenizer),
        stand_in["context_window"],
        {key: value for key, value in ids.items() if value is not None},
    )
    model: Any = KINDS[stand_in["predicts"]].from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(SPREAD * torch.randn_like(parameter))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
