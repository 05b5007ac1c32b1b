"""From gradients to new weights: precision, the loss scale, learning rates, Adam, clipping."""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import nn

from lingprob.errors import LingprobError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Pythia's: 2^12 at first, twice as much after 1,000 steps without an overflow.
FIRST_SCALE, GROWTH_STEPS = 2.0**12, 1000


def choose_dtype(precision: str, device: torch.device) -> torch.dtype:
    """Return the number format of products; `auto` is half precision where that is fast.

    That is bfloat16 on a GPU or a CPU that multiplies in it, float16 (the paper's) on an older GPU,
    and float32 on an older CPU.
    """
    if precision != "auto":
        if precision not in DTYPES:
            raise LingprobError(f"training.precision: {precision!r} is none of {list(DTYPES)}.")
        if precision == "float16" and device.type == "cpu":
            raise LingprobError("training.precision: float16 needs a GPU. Use bfloat16 or float32.")
        return DTYPES[precision]
    if device.type == "cpu":
        return torch.bfloat16 if _cpu_multiplies_in_bfloat16() else torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


class LossScale:
    """What the loss is multiplied by so that float16 gradients do not vanish; 1 elsewhere."""

    def __init__(self, dtype: torch.dtype) -> None:
        self.dynamic = dtype == torch.float16
        self.value = FIRST_SCALE if self.dynamic else 1.0
        self.good_steps = 0

    def update(self, finite: bool) -> None:
        """Learn whether the gradients of a step were finite: halve the scale, or let it grow."""
        if not self.dynamic:
            return
        self.good_steps = self.good_steps + 1 if finite else 0
        if not finite:
            self.value = max(1.0, self.value / 2)
        elif self.good_steps % GROWTH_STEPS == 0:
            self.value *= 2

    def state(self) -> dict[str, float]:
        """Return what a checkpoint keeps."""
        return {"value": self.value, "good_steps": self.good_steps}

    def restore(self, state: dict[str, float]) -> None:
        """Go on from a checkpoint's scale."""
        self.value, self.good_steps = state["value"], int(state["good_steps"])


def _cpu_multiplies_in_bfloat16() -> bool:
    # torch has no public question for this; without the instructions bfloat16 is emulated.
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def learning_rate(step: int, steps: int, *, warmup: int, highest: float, lowest: float) -> float:
    """Return the learning rate of a step.

    Args:
        step: from 1 to `steps`.
        steps: of the whole training.
        warmup: steps of linear growth from 0; `highest` is reached at step `warmup`.
        highest: the maximum.
        lowest: the rate at step `steps`, where the cosine's half period ends.
    """
    if step < warmup:
        return highest * step / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return lowest + (highest - lowest) * (1 + math.cos(math.pi * progress)) / 2


def warmup_steps(steps: int, share: float) -> int:
    """Return the number of warm-up steps: this share of all, rounded, at least 1."""
    return max(1, round(share * steps))


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
    value = float(nn.utils.get_total_norm(gradients) / scale.value)
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
