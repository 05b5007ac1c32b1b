"""From gradients to new weights: Adam, clipping, and the loss scale undone."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import nn

from lingprob.errors import LingprobError
from lingprob.training.precision import LossScale


def build_optimizer(
    model: nn.Module, betas: tuple[float, float], weight_decay: float
) -> torch.optim.Optimizer:
    """Return Adam with Pythia's decoupled weight decay, of matrices alone; no learning rate yet."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=1e-8, fused=True)


def move_weights(
    parameters: Iterable[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    scale: LossScale,
    rate: float,
    clip: float = math.inf,
) -> float:
    """Move the weights by their gradients, and clear these; return the gradients' norm.

    Where the norm is not finite the weights stay as they are: in float16 the loss scale is halved
    for the next try.

    Args:
        parameters: those with gradients of the scaled loss.
        optimizer, scale: theirs.
        rate: the learning rate.
        clip: largest norm; longer gradients are shortened to it.

    Raises LingprobError if the norm is not finite and the scale not to blame.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = nn.utils.get_total_norm(gradients) / scale.value
    # Sharded gradients have a sharded norm.
    value = float(norm.full_tensor() if hasattr(norm, "full_tensor") else norm)
    finite = math.isfinite(value)
    if not finite and scale.value == 1.0:
        raise LingprobError(
            "the gradients are not finite. Lower training.learning_rate (or "
            "training.fine_tuning.learning_rate), or use precision float32. What was saved is kept."
        )
    if finite:
        torch._foreach_mul_(gradients, min(1.0, clip / (value + 1e-6)) / scale.value)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    scale.update(finite)
    optimizer.zero_grad(set_to_none=True)
    return value
