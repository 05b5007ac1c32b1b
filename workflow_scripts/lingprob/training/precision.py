"""Half precision beside float32 master weights, and the loss scale that float16 needs."""

from __future__ import annotations

import torch

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
