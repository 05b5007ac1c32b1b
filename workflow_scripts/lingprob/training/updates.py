"""Updates of weights: number formats, the loss scale, learning rates, Adam and clipping."""

import math
from collections.abc import Iterable, Iterator
from contextlib import nullcontext

import numpy as np
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lingprob.errors import LingprobError

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
# Pythia's loss scale for float16: 2^12 at first, doubled after 1,000 steps without an overflow.
FIRST_SCALE, GROWTH_STEPS = 2.0**12, 1000


def choose_dtype(precision: str, device: torch.device) -> torch.dtype:
    """Return the number format of matrix products for the setting `training.precision`.

    `auto` is bfloat16 on a GPU or a CPU that multiplies in it, float16 (the paper's) on an older
    GPU, and float32 on an older CPU. Raises LingprobError for float16 on a CPU.
    """
    if precision == "auto":
        if device.type == "cuda":
            return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
        has = torch.cpu.get_capabilities().get
        fast = has("avx512_bf16") or has("amx_bf16")
        return torch.bfloat16 if fast else torch.float32
    if precision == "float16" and device.type == "cpu":
        raise LingprobError("training.precision: float16 needs a GPU. Use bfloat16 or float32.")
    return DTYPES[precision]


def loss_scaler(dtype: torch.dtype, device: torch.device) -> torch.amp.GradScaler:
    """Return the loss scaler, which is active only for float16, so that no gradient vanishes."""
    return torch.amp.GradScaler(
        device.type,
        init_scale=FIRST_SCALE,
        growth_interval=GROWTH_STEPS,
        enabled=dtype == torch.float16,
    )


def learning_rate(step: int, steps: int, *, warmup: int, highest: float, lowest: float) -> float:
    """Return the learning rate of a step (1 to `steps`): linear growth, then half a cosine.

    The rate grows from 0 to `highest` at step `warmup`, and falls to `lowest` at the last step.
    """
    if step < warmup:
        return highest * step / warmup
    progress = (step - warmup) / max(1, steps - warmup)
    return lowest + (highest - lowest) * (1 + math.cos(math.pi * progress)) / 2


def warmup_steps(steps: int, share: float) -> int:
    """Return the number of warm-up steps: a share of all steps, rounded, at least 1."""
    return max(1, round(share * steps))


def build_optimizer(
    model: nn.Module, betas: tuple[float, float], weight_decay: float
) -> torch.optim.Optimizer:
    """Return AdamW with Pythia's weight decay, of matrices only, and a learning rate of 0."""
    parameters = list(model.parameters())
    groups = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=0.0, betas=betas, eps=1e-8, fused=True)


def refuse_infinite(value: float, what: str) -> None:
    """Raise LingprobError unless a loss or norm is finite."""
    if not math.isfinite(value):
        raise LingprobError(
            f"{what} is not finite. Lower training.learning_rate (or "
            "training.fine_tuning.learning_rate), or use precision float32. The last checkpoint is "
            "kept."
        )


def accumulate(
    loss_of: nn.Module,
    parts: Iterable[np.ndarray],
    count: int,
    share: float,
    scaler: torch.amp.GradScaler,
) -> torch.Tensor:
    """Add up the gradients of `share` times the summed loss of `count` parts of a batch's rows.

    `loss_of` is a `SummedLoss`, or one that exchanges gradients with other processes. Returns the
    summed loss, float32 ().
    """
    device = next(loss_of.parameters()).device
    total = torch.zeros((), device=device)
    for number, rows in enumerate(parts, start=1):
        # Processes exchange their gradients only after the last part.
        early = isinstance(loss_of, DistributedDataParallel) and number < count
        with loss_of.no_sync() if early else nullcontext():
            loss = loss_of(torch.from_numpy(rows).to(device))
            scaler.scale(loss * share).backward()
        total += loss.detach()
    return total


def move_weights(
    parameters: Iterable[nn.Parameter],
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    rate: float,
    clip: float = math.inf,
) -> float:
    """Update the weights by the gradients of the scaled loss, and return the gradients' norm.

    Gradients with a norm above `clip` are shortened to it. If float16 gradients overflow, the
    weights stay the same and the loss scale is halved. All gradients are cleared. Raises
    LingprobError if the norm is not finite although no loss scale is used.
    """
    scaler.unscale_(optimizer)
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = float(nn.utils.get_total_norm(gradients))
    if not scaler.is_enabled():
        refuse_infinite(norm, "the norm of the gradients")
    if norm > clip - 1e-6:
        for gradient in gradients:
            gradient.mul_(clip / (norm + 1e-6))
    for group in optimizer.param_groups:
        group["lr"] = rate
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    return norm


def micro_batches(rows: np.ndarray, size: int) -> Iterator[np.ndarray]:
    """Yield rows in parts of about equal size, with at most `size` rows."""
    yield from np.array_split(rows, math.ceil(len(rows) / size))
