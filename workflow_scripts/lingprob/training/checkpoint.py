"""Checkpoints of a training in progress: whole or absent, and only used by the same training."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)

from lingprob.errors import LingprobError
from lingprob.files import atomic_path, write_text
from lingprob.training.parallel import World
from lingprob.training.precision import LossScale

logger = logging.getLogger(__name__)


def save_checkpoint(
    path: Path,
    identity: str,
    step: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scale: LossScale,
    world: World,
) -> None:
    """Write weights and optimizer state after a step; called by every process, written by one.

    Raises LingprobError if the disk is full; the checkpoint before stays as it is.
    """
    options = StateDictOptions(full_state_dict=True, cpu_offload=world.size > 1)
    weights, state = get_state_dict(model, optimizer, options=options)
    if not world.is_first:
        return
    content = {
        "identity": identity,
        "step": step,
        "model": weights,
        "optimizer": state,
        "scale": scale.state(),
    }
    with atomic_path(path) as temporary:
        try:
            torch.save(content, temporary)
        except RuntimeError as error:
            free = shutil.disk_usage(path.parent).free
            raise LingprobError(
                f"{path}: the checkpoint of step {step} could not be written ({free:,} bytes are "
                f"free on the disk; {error}). Free some and run again: training goes on from the "
                "checkpoint before."
            ) from error


def load_checkpoint(
    path: Path,
    identity: str,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scale: LossScale,
    world: World,
) -> int:
    """Restore the checkpoint at `path` and return its step; 0 if there is none of this training.

    The checkpoint of another training (other settings, data or code) is left out, and the log
    says so. Raises LingprobError if the file cannot be read.
    """
    if not path.is_file():
        return 0
    try:
        content: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
    except (RuntimeError, EOFError, OSError, ValueError) as error:
        raise LingprobError(
            f"{path}: not a whole checkpoint ({error}). Delete it to train from the start."
        ) from error
    if content["identity"] != identity:
        logger.warning("%s is of other settings, data or code: training starts anew", path)
        return 0
    options = StateDictOptions(full_state_dict=True, cpu_offload=world.size > 1)
    set_state_dict(
        model,
        optimizer,
        model_state_dict=content["model"],
        optim_state_dict=content["optimizer"],
        options=options,
    )
    scale.restore(content["scale"])
    logger.info("%s: training goes on after step %d", path, content["step"])
    return int(content["step"])


def cut_log(path: Path, step: int) -> None:
    """Drop the lines of a JSON-lines log that come after a step, half-written ones included."""
    if not path.is_file():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
    write_text("".join(kept), path)
