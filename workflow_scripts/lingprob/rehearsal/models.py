"""Tiny random models, and tokenizers that are trained on sentences of the package."""

import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from tokenizers import Tokenizer, processors
from transformers import (
    AutoModel,
    AutoModelForCausalLM,
    AutoModelForMaskedLM,
    BertConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
)

from lingprob.demo import CONTROL_SENTENCES, MINIMAL_PAIRS
from lingprob.training.corpus import train_byte_pairs

WIDTH, LAYERS, HEADS = 8, 2, 2
SPREAD = 0.2  # scale of random weights, so that predictions are far from uniform
# The classes of model and configuration of each kind, and its window if the catalog states none.
KINDS: dict[str, tuple[Any, Any, int]] = {
    "causal": (AutoModelForCausalLM, LlamaConfig, 2048),
    "masked": (AutoModelForMaskedLM, BertConfig, 512),
    "embedding": (AutoModel, BertConfig, 512),
}
MADE_TOKENS = 1000
# The special tokens of causal models, and of models that read both sides.
SPECIAL = dict.fromkeys(("bos_token", "eos_token", "unk_token"), "<|endoftext|>")
BERT_SPECIAL = {
    f"{name}_token": f"[{name.upper()}]" for name in ("pad", "unk", "cls", "sep", "mask")
}
MADE_SPECIAL = ["<|endoftext|>", "</s>", "<pad>", *BERT_SPECIAL.values()]


def generator(name: str) -> np.random.Generator:
    """Return a random generator whose seed is a checksum of a name."""
    return np.random.default_rng(zlib.crc32(name.encode()))


@cache
def sentences() -> tuple[str, ...]:
    """Return the acceptable sentences of the demo's pairs, and its unrelated sentences."""
    control = CONTROL_SENTENCES.read_text(encoding="utf-8").splitlines()
    return (*pd.read_csv(MINIMAL_PAIRS)["good"], *filter(None, control))


def documents(name: str, count: int, length: int) -> list[str]:
    """Return `count` random texts of `length` sentences each, which depend on `name`."""
    drawn = generator(name).integers(len(sentences()), size=(count, length))
    return [" ".join(sentences()[place] for place in row) for row in drawn]


def make_model(
    name: str,
    kind: str,
    context_window: int | None,
    tokenizer: PreTrainedTokenizerFast,
    directory: Path,
) -> None:
    """Write a random model and its tokenizer to a directory, as transformers saves them.

    `name` determines the weights. A window of None is that of the kind, one of KINDS.
    """
    model_class, config_class, window = KINDS[kind]
    config = config_class(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=2 * WIDTH,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        max_position_embeddings=context_window or window,
        **{key: getattr(tokenizer, key) for key in ("bos_token_id", "eos_token_id")},
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(int(generator(name).integers(2**31)))
    model = model_class.from_config(config, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(SPREAD * torch.randn_like(parameter))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)


def make_tokenizer(causal: bool, file: Path | None = None) -> PreTrainedTokenizerFast:
    """Return the tokenizer of a tokenizer.json, or one that is trained on `sentences`.

    One that is not for causal models puts [CLS] and [SEP] around its texts.
    """
    if file:
        made = Tokenizer.from_file(str(file))
    else:
        made = train_byte_pairs(sentences(), MADE_TOKENS, MADE_SPECIAL)
    if causal:
        return PreTrainedTokenizerFast(tokenizer_object=made, **SPECIAL)
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(token, made.token_to_id(token)) for token in ("[CLS]", "[SEP]")],
    )
    return PreTrainedTokenizerFast(tokenizer_object=made, **BERT_SPECIAL)
