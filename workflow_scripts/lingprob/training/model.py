"""GPT-NeoX models with Pythia's architecture, and a loss that never keeps all logits in memory."""

import math
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.utils import logging as transformers_logging

from lingprob.errors import LingprobError
from lingprob.training.sizes import ModelSize

# Positions per chunk of the loss: few enough for a CPU's cache, many enough for a GPU's products.
CHUNK = {"cpu": 256, "cuda": 8192}


def build_model(
    size: ModelSize, vocabulary: int, context_window: int, seed: int, separator: int = 0
) -> GPTNeoXForCausalLM:
    """Return a model with Pythia's architecture and random initial weights, float32.

    Attention and feedforward layers are parallel, rotary embeddings take a quarter of each head,
    and there is no dropout. Weights are normal with Pythia's two standard deviations, and biases
    are zero. The token `separator` begins and ends documents.
    """
    if size.width % size.heads or (size.width // size.heads) % 8:
        raise LingprobError(
            f"training.sizes: {size.heads} heads cannot share a width of {size.width}. Each "
            "head's share must be a multiple of 8."
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
        bos_token_id=separator,
        eos_token_id=separator,
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config)
    if not model.lm_head.weight.is_meta:
        _initialise(model, size, seed)
    return model


def _initialise(model: GPTNeoXForCausalLM, size: ModelSize, seed: int) -> None:
    """Draw the weights as Pythia does: `small_init`, and `wang_init` for outputs of a layer."""
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
    """A model as a function from rows of token ids to the sum of the tokens' -ln p (nats)."""

    def __init__(self, model: GPTNeoXForCausalLM, dtype: torch.dtype) -> None:
        super().__init__()
        self.model, self.dtype = model, dtype

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """Return the sum, float32 (), over int64 (n_rows, row_length), without first tokens."""
        half = self.dtype != torch.float32
        with torch.autocast(rows.device.type, dtype=self.dtype, enabled=half):
            hidden = self.model.gpt_neox(rows[:, :-1], use_cache=False).last_hidden_state
        return summed_cross_entropy(
            hidden.flatten(0, 1), self.model.lm_head.weight, rows[:, 1:].flatten(), self.dtype
        )


def summed_cross_entropy(
    hidden: torch.Tensor,
    weight: torch.Tensor,
    labels: torch.Tensor,
    dtype: torch.dtype = torch.float32,
    chunk: int | None = None,
) -> torch.Tensor:
    """Return the sum over positions of -ln softmax(hidden @ weight.T)[label], float32 ().

    Logits are computed for one chunk of positions at a time (by default the device's CHUNK), and
    their exponentials give both loss and gradient. Products have the `dtype`, and softmax and sums
    are float32. `hidden` has shape (n, width), `weight` (V, width), and `labels`, int64, (n,).
    """
    chunk = chunk or CHUNK[hidden.device.type]
    return _SummedCrossEntropy.apply(hidden, weight, labels, dtype, chunk)


class _SummedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        context: Any,
        hidden: torch.Tensor,
        weight: torch.Tensor,
        labels: torch.Tensor,
        dtype: torch.dtype,
        chunk: int,
    ) -> torch.Tensor:
        inputs, matrix = hidden.to(dtype), weight.to(dtype)
        with_gradient = any(context.needs_input_grad)
        if with_gradient:
            of_hidden = torch.empty_like(inputs)
            of_weight = torch.zeros(weight.shape, dtype=torch.float32, device=weight.device)
        total = torch.zeros((), dtype=torch.float32, device=hidden.device)
        for start in range(0, len(inputs), chunk):
            x, label = inputs[start : start + chunk], labels[start : start + chunk, None]
            logits = (x @ matrix.T).float()
            logits.sub_(logits.amax(dim=1, keepdim=True))
            chosen = logits.gather(1, label)
            norm = logits.exp_().sum(dim=1, keepdim=True)
            total += (norm.log() - chosen).sum()
            if with_gradient:
                logits.div_(norm).scatter_add_(1, label, torch.full_like(chosen, -1.0))
                of_logits = logits.to(dtype)
                torch.mm(of_logits, matrix, out=of_hidden[start : start + chunk])
                if dtype == torch.float32:
                    of_weight.addmm_(of_logits.T, x)
                else:
                    of_weight.add_(of_logits.T @ x)
        if with_gradient:
            context.save_for_backward(of_hidden.to(hidden.dtype), of_weight.to(weight.dtype))
        return total

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> tuple:
        of_hidden, of_weight = context.saved_tensors
        # They are used once, so they are scaled in place.
        return of_hidden.mul_(gradient), of_weight.mul_(gradient), None, None, None


def save_model(model: GPTNeoXForCausalLM, tokenizer: Path, directory: Path) -> None:
    """Save the weights and configuration of a model, with the files in the folder `tokenizer`."""
    transformers_logging.disable_progress_bar()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path in tokenizer.glob("*token*.json"):
            (directory / path.name).write_bytes(path.read_bytes())
        model.save_pretrained(directory)
    except (OSError, SafetensorError) as error:
        raise LingprobError(
            f"{directory}: the model could not be saved ({error}). Free some space and run again. "
            "Training goes on from its last checkpoint."
        ) from error
