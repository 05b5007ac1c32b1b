"""Checkpoints of a training in progress: whole or absent, and only used by the same training."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path, write_text
from lingprob.training.parallel import World
from lingprob.training.updates import LossScale

KEYS = {"identity", "step", "model", "optimizer", "scale"}

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
    """Write weights and optimizer state after a step; the first process alone writes.

    The checkpoint before is kept beside it, in case this one comes to harm.
    Raises LingprobError if the disk is full; the checkpoint before stays as it is.
    """
    if not world.is_first:
        return
    options = StateDictOptions(full_state_dict=True)
    weights, state = get_state_dict(model, optimizer, options=options)
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
        if path.exists():
            path.replace(before(path))


def before(path: Path) -> Path:
    """Return where the checkpoint before the one at `path` is kept."""
    return path.with_name(f"before-{path.name}")


def load_checkpoint(
    path: Path,
    identity: str,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scale: LossScale,
) -> int:
    """Restore the checkpoint at `path` and return its step; 0 if there is none of this training.

    A damaged one is left out for the one before it, and that of another training (other settings,
    data or code) altogether; the log says so.
    """
    content = _read(path) or _read(before(path))
    if content is None:
        return 0
    if content["identity"] != identity:
        logger.warning("%s is of other settings, data or code: training starts anew", path)
        return 0
    options = StateDictOptions(full_state_dict=True)
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


def _read(path: Path) -> dict[str, Any] | None:
    """Return a checkpoint's content, or None if there is none or the file is damaged."""
    try:
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(content, dict) and content.keys() == KEYS:
            return content
        error: object = "holds something else"
    except FileNotFoundError:
        return None
    except (RuntimeError, EOFError, OSError, ValueError, KeyError, UnpicklingError) as problem:
        error = problem
    logger.warning("%s: not a whole checkpoint (%s); left out", path, error)
    return None


def cut_log(path: Path, step: int) -> None:
    """Drop the lines of a JSON-lines log that come after a step, half-written ones included."""
    if not path.is_file():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
    write_text("".join(kept), path)
