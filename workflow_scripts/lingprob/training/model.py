"""GPT-NeoX models as Pythia has them, with a loss that never holds all logits."""

from __future__ import annotations

import math
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.training.loss import summed_cross_entropy
from lingprob.training.sizes import ModelSize


def build_model(
    size: ModelSize, vocabulary: int, context_window: int, seed: int, separator: int = 0
) -> GPTNeoXForCausalLM:
    """Return a model with Pythia's architecture and its initial weights, float32.

    Parallel attention and feedforward, rotary embeddings of a quarter of each head, no dropout,
    embeddings not tied. Weights are normal with Pythia's two standard deviations, biases zero.

    Args:
        size: layers, heads and width; heads must divide the width.
        vocabulary: number of token ids.
        context_window: tokens that the model can see.
        seed: of the weights.
        separator: id of the token that begins and ends documents.
    """
    if size.width % size.heads or (size.width // size.heads) % 8:
        raise LingprobError(
            f"training.sizes: {size.heads} heads cannot share a width of {size.width}; each head's "
            "share must be a multiple of 8."
        )
    config = GPTNeoXConfig(
        vocab_size=vocabulary,
        hidden_size=size.width,
        num_hidden_layers=size.layers,
        num_attention_heads=size.heads,
        intermediate_size=4 * size.width,
        max_position_embeddings=context_window,
        rope_parameters={
            "rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25
        },
        use_parallel_residual=True,
        tie_word_embeddings=False,
        attention_dropout=0.0,
        hidden_dropout=0.0,
        use_cache=True,
        bos_token_id=separator,
        eos_token_id=separator,
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config)
    expected = size.parameters(vocabulary)
    if (found := sum(p.numel() for p in model.parameters())) != expected:
        raise LingprobError(f"the model has {found} weights instead of {expected}: {size}.")
    if not model.lm_head.weight.is_meta:
        initialise(model, size, seed)
    return model


def initialise(model: GPTNeoXForCausalLM, size: ModelSize, seed: int) -> None:
    """Draw the weights as Pythia does: `small_init`, and `wang_init` where a layer ends."""
    generator = torch.Generator().manual_seed(seed)
    small = math.sqrt(2 / (5 * size.width))
    last = 2 / (size.layers * math.sqrt(size.width))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2:
                ends_layer = name.endswith(("attention.dense.weight", "dense_4h_to_h.weight"))
                weight.normal_(0.0, last if ends_layer else small, generator=generator)
            else:  # weights of norms, and biases
                weight.fill_(1.0 if name.endswith("weight") else 0.0)


class SummedLoss(nn.Module):
    """A model as a function from rows of token ids to the sum of their -ln p (nats)."""

    def __init__(self, model: GPTNeoXForCausalLM, dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.dtype = model, dtype

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return float32 () for int64 (n_rows, row_length): all tokens but each row's first."""
        hidden = self.model.gpt_neox(rows[:, :-1], use_cache=False).last_hidden_state
        return summed_cross_entropy(
            hidden.flatten(0, 1), self.model.lm_head.weight, rows[:, 1:].flatten(), self.dtype
        )


def save_model(model: GPTNeoXForCausalLM, tokenizer: Path, directory: Path) -> None:
    """Save weights, configuration and tokenizer files so that the directory can be loaded from.

    `tokenizer` is a directory that has the tokenizer's files, perhaps among others.
    """
    transformers_logging.disable_progress_bar()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path in tokenizer.glob("*token*.json"):
            (directory / path.name).write_bytes(path.read_bytes())
        model.save_pretrained(directory)
    except (OSError, SafetensorError) as error:
        raise LingprobError(
            f"{directory}: the model could not be saved ({error}). Free some space and run again: "
            "training goes on from its last checkpoint."
        ) from error
