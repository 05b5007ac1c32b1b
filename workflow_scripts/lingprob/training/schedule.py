"""The learning rate of each step (leakage, Appendix A)."""

from __future__ import annotations

import math


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
