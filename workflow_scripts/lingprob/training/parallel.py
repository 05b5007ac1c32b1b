"""One process, or several of torchrun's, whose gradients are averaged (DDP)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lingprob.errors import LingprobError


@dataclass(frozen=True)
class World:
    """This process among all that train one model."""

    rank: int
    size: int
    device: torch.device

    @property
    def is_first(self) -> bool:
        """Whether this process writes logs and checkpoints."""
        return self.rank == 0

    def sum(self, value: torch.Tensor) -> torch.Tensor:
        """Return the sum of a tensor over all processes."""
        if self.size > 1:
            dist.all_reduce(value)
        return value

    def gather(self, value: Any) -> list[Any]:
        """Return every process's value, in the order of ranks."""
        if self.size == 1:
            return [value]
        values: list[Any] = [None] * self.size
        dist.all_gather_object(values, value)
        return values


@contextmanager
def world_of(device: str) -> Iterator[World]:
    """Join the processes that torchrun started, or be the only one.

    `device` is `auto` (a GPU where there is one), `cpu` or `cuda`; each process takes its own GPU.
    """
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    local = int(os.environ.get("LOCAL_RANK", 0))
    if device == "cuda" and not torch.cuda.is_available():
        raise LingprobError(
            "training.device: cuda was asked for, and torch finds no GPU. Set `training.device: "
            "auto`, or run with a profile that requests one (--workflow-profile profiles/slurm)."
        )
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    chosen = torch.device("cuda", local) if on_gpu else torch.device("cpu")
    if on_gpu:
        torch.cuda.set_device(chosen)
    if size > 1:
        dist.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield World(rank, size, chosen)
    finally:
        if size > 1:
            dist.destroy_process_group()


def spread(model: nn.Module, world: World) -> nn.Module:
    """Return the model as all processes train it: each has all weights, and gradients are averaged.

    It has the same weights in every process, on its device.
    """
    if world.size == 1:
        return model
    return DistributedDataParallel(model, gradient_as_bucket_view=True, forward_sync_buffers=False)


@contextmanager
def exchange_gradients(model: nn.Module, wanted: bool) -> Iterator[None]:
    """Let the backward pass inside exchange gradients, or only add them up (accumulation)."""
    if isinstance(model, DistributedDataParallel) and not wanted:
        with model.no_sync():
            yield
        return
    yield
