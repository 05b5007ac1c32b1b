"""Tiny random models of the architectures that the catalog's models have."""

from __future__ import annotations

from collections.abc import Mapping
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
    PreTrainedTokenizerFast,
)

from lingprob.rehearsal.prose import generator

WIDTH, LAYERS, HEADS = 8, 2, 2
KINDS = {"next": AutoModelForCausalLM, "masked": AutoModelForMaskedLM, "nothing": AutoModel}
SPREAD = 0.2  # of random weights: predictions are far from uniform


def configuration(
    architecture: str, vocabulary: int, context_window: int, special: dict[str, int | None]
) -> PreTrainedConfig:
    """Return the configuration of a tiny model: a few thousand weights beside its embeddings.

    Args:
        architecture: transformers' name of it.
        vocabulary: number of logits.
        context_window: tokens that it can see.
        special: ids such as bos_token_id, or None.
    """
    common: dict[str, Any] = {
        "vocab_size": vocabulary,
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
    }
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


def make_model(
    name: str, shape: Mapping[str, Any], tokenizer: PreTrainedTokenizerFast, directory: Path
) -> None:
    """Write a random model with its tokenizer, as transformers saves them.

    Args:
        name: of the catalog's model; the weights depend on it and the shape alone.
        shape: as `entries.model_shape` gives it; it predicts the next token, masked ones, or (a
            sentence embedding) nothing.
        tokenizer: the model's.
        directory: of the files.
    """
    keys = ("bos_token_id", "eos_token_id", "pad_token_id")
    torch.manual_seed(int(generator(name).integers(2**31)))
    config = configuration(
        shape["architecture"],
        shape["tokenizer"].get("logits") or len(tokenizer),
        shape["context_window"],
        {key: getattr(tokenizer, key) for key in keys},
    )
    model: Any = KINDS[shape["predicts"]].from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(SPREAD * torch.randn_like(parameter))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
