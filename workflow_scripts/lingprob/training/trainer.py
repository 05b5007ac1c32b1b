"""The training of a model: steps, log, validation, checkpoints and continuation."""

import json
import logging
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from torch.nn.parallel import DistributedDataParallel

from lingprob.errors import LingprobError
from lingprob.io.files import atomic_path, write_text
from lingprob.io.progress import Progress
from lingprob.training.corpus import TrainingData, examples_of_step
from lingprob.training.model import SummedLoss, build_model
from lingprob.training.sizes import ModelSize
from lingprob.training.updates import (
    accumulate,
    build_optimizer,
    choose_dtype,
    learning_rate,
    loss_scaler,
    micro_batches,
    move_weights,
    refuse_infinite,
    warmup_steps,
)

WHOLE = StateDictOptions(full_state_dict=True)

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """The settings that, with the data, determine the weights."""

    size: ModelSize
    vocabulary: int
    context_window: int
    batch_size: int
    steps: int
    seed: int
    precision: str
    learning_rate: float
    # The paper's values (leakage, Appendix A). If it names none, they are Pythia's.
    lowest_learning_rate: float = 0.0001  # of the last step
    warmup: float = 0.01  # share of the steps in which the learning rate grows
    betas: tuple[float, float] = (0.9, 0.95)  # Adam's
    weight_decay: float = 0.1  # of matrices
    clip: float = 1.0  # largest norm of the gradients


@dataclass(frozen=True)
class Means:
    """The settings that do not change the weights (except for rounding)."""

    device: str
    micro_batch_size: int
    repeat_examples: bool
    validation_steps: int
    checkpoint_steps: int
    keep_checkpoints: Sequence[int] = ()


@dataclass(frozen=True)
class World:
    """This process among all that train one model: its number, their number, and its device.

    The process with rank 0 writes logs and checkpoints.
    """

    rank: int
    size: int
    device: torch.device


@contextmanager
def world_of(device: str) -> Iterator[World]:
    """Yield this process's `World`, after a connection to other processes that torchrun started.

    `device` is `auto` (a GPU if there is one), `cpu` or `cuda`. Each process takes its own GPU.
    Raises LingprobError if there is no GPU for `cuda`.
    """
    rank, size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
    if device == "cuda" and not torch.cuda.is_available():
        raise LingprobError(
            "training.device: cuda is chosen, but torch finds no GPU. Set `training.device: auto`, "
            "or run with a profile that requests a GPU (--workflow-profile profiles/slurm)."
        )
    on_gpu = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    chosen = torch.device("cpu")
    if on_gpu:
        chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
        torch.cuda.set_device(chosen)
    if size > 1:
        dist.init_process_group("nccl" if on_gpu else "gloo")
    try:
        yield World(rank, size, chosen)
    finally:
        if size > 1:
            dist.destroy_process_group()


class Trainer:
    """The training of a model in this process, one of a `World`.

    The folder has the checkpoint and the log. A later run with the same identity (digest of plan,
    data and code) continues. `keep` is called in the first process with the step and the model,
    after each step of `means.keep_checkpoints`.
    """

    def __init__(
        self,
        plan: Plan,
        means: Means,
        data: TrainingData,
        folder: Path,
        identity: str,
        world: World,
        keep: Callable[[int, nn.Module], None] = lambda step, model: None,
    ) -> None:
        check_examples(plan, data, world, means.repeat_examples)
        self.plan, self.means, self.data, self.world = plan, means, data, world
        self.folder, self.identity, self.keep = folder, identity, keep
        self.dtype = choose_dtype(plan.precision, world.device)
        self.model = build_model(
            plan.size, plan.vocabulary, plan.context_window, plan.seed, data.separator
        ).to(world.device)
        if world.device.type == "cuda":
            for layer in self.model.gpt_neox.layers:
                layer.compile()
        self.loss: nn.Module = SummedLoss(self.model, self.dtype)
        if world.size > 1:
            self.loss = DistributedDataParallel(
                self.loss, gradient_as_bucket_view=True, forward_sync_buffers=False
            )
        self.optimizer = build_optimizer(self.model, plan.betas, plan.weight_decay)
        self.scaler = loss_scaler(self.dtype, world.device)
        self.warmup = warmup_steps(plan.steps, plan.warmup)

    def train(self) -> nn.Module:
        """Do the remaining steps, and return the model. Raises LingprobError as `step` does."""
        plan, means, first = self.plan, self.means, self.world.rank == 0
        log = self.folder / "log.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        done = self.resume()
        if first:
            cut_log(log, done)
        tokens = plan.batch_size * plan.context_window
        with Progress(plan.steps * tokens, self.folder.name, "tokens") as progress:
            progress.bar.disable = progress.bar.disable or not first
            progress.resume_at(done * tokens)
            for step in range(done + 1, plan.steps + 1):
                record = self.step(step)
                if first and step in means.keep_checkpoints:
                    self.keep(step, self.model)
                if step % means.validation_steps == 0 or step == plan.steps:
                    record["validation_loss"] = self.validation_loss()
                if first:
                    with open(log, "a", encoding="utf-8") as stream:
                        stream.write(json.dumps(record) + "\n")
                if first and (step % means.checkpoint_steps == 0 or step == plan.steps):
                    self.save(step)
                progress.bar.set_postfix(loss=f"{record['loss']:.3f}")
                progress.advance(tokens)
        return self.model

    def save(self, step: int) -> None:
        """Replace the checkpoint by the state after a step. If the disk is full, the last stays."""
        path = self.folder / "checkpoint.pt"
        weights, state = get_state_dict(self.loss, self.optimizer, options=WHOLE)
        content = {"identity": self.identity, "step": step, "model": weights, "optimizer": state}
        try:
            with atomic_path(path) as temporary:
                torch.save({**content, "scaler": self.scaler.state_dict()}, temporary)
        except RuntimeError as error:
            free = shutil.disk_usage(path.parent).free
            raise LingprobError(
                f"{path}: the checkpoint of step {step} could not be written ({error}; {free:,} "
                "bytes are free). Free some and run again: training goes on from the last one."
            ) from error

    def resume(self) -> int:
        """Restore the checkpoint of this training, and return its step, or 0 without one.

        A checkpoint that is damaged, or of other settings, data or code, is ignored with a warning.
        """
        path = self.folder / "checkpoint.pt"
        if not path.is_file():
            return 0
        try:
            content: Any = torch.load(path, map_location="cpu", weights_only=True)
            same = content["identity"] == self.identity
        except (RuntimeError, EOFError, OSError, ValueError, LookupError, TypeError,
                UnpicklingError) as error:  # fmt: skip
            logger.warning("%s: damaged (%s), so training begins again", path, error)
            return 0
        if not same:
            logger.warning("%s: of other settings, data or code, so training begins again", path)
            return 0
        set_state_dict(
            self.loss,
            self.optimizer,
            model_state_dict=content["model"],
            optim_state_dict=content["optimizer"],
            options=WHOLE,
        )
        if content["scaler"]:  # empty after a training in another number format
            self.scaler.load_state_dict(content["scaler"])
        logger.info("%s: training goes on after step %d", path, content["step"])
        return int(content["step"])

    def step(self, step: int) -> dict[str, Any]:
        """Do a step (from 1), and return its record for the log.

        Raises LingprobError if loss or gradients are not finite. The weights then stay the same.
        """
        plan, world, started = self.plan, self.world, time.perf_counter()
        rate = learning_rate(
            step, plan.steps, warmup=self.warmup,
            highest=plan.learning_rate, lowest=plan.lowest_learning_rate,
        )  # fmt: skip
        numbers = examples_of_step(step, plan.batch_size, self.data.n_examples, plan.seed)
        parts = list(micro_batches(numbers[world.rank :: world.size], self.means.micro_batch_size))
        rows = (self.data.take(part) for part in parts)
        tokens = plan.batch_size * plan.context_window
        # The gradients of processes are averaged, so each one's share counts `size` times.
        total = accumulate(self.loss, rows, len(parts), world.size / tokens, self.scaler)
        if world.size > 1:
            dist.all_reduce(total)
        loss = total.item() / tokens
        refuse_infinite(loss, f"{self.folder}: the loss of step {step}")
        norm = move_weights(self.loss.parameters(), self.optimizer, self.scaler, rate, plan.clip)
        seconds = time.perf_counter() - started
        return {
            "step": step,
            "tokens": step * tokens,
            "loss": loss,
            "learning_rate": rate,
            "gradient_norm": norm if math.isfinite(norm) else None,
            "loss_scale": self.scaler.get_scale(),
            "seconds": round(seconds, 4),
            "tokens_per_second": round(tokens / seconds, 1),
        }

    @torch.no_grad()
    def validation_loss(self) -> float | None:
        """Return the mean -ln p (nats per token) of the validation examples, or None.

        Every process computes it, so that none has to wait for an exchange.
        """
        rows = self.data.validation
        if not len(rows):
            return None
        total = torch.zeros((), device=self.world.device)
        for part in micro_batches(rows, self.means.micro_batch_size):
            total += self.loss(torch.from_numpy(part).to(self.world.device))
        loss = total.item() / (len(rows) * self.plan.context_window)
        refuse_infinite(loss, f"{self.folder}: the loss of the validation examples")
        return loss


def check_examples(plan: Plan, data: TrainingData, world: World, repeat: bool) -> None:
    """Raise LingprobError unless the data have enough examples and each process an equal share.

    `repeat` allows examples to come more than once (the paper's come once, leakage, §3.1).
    """
    if plan.batch_size > data.n_examples:
        raise LingprobError(
            f"training.batch_size: {plan.batch_size} examples are more than the {data.n_examples} "
            f"of {plan.context_window + 1} tokens besides {len(data.validation)} held-out ones. "
            "Lower it, or select more chunks (overlap.chunks_selected)."
        )
    if plan.batch_size % world.size:
        raise LingprobError(
            f"training.batch_size: {plan.batch_size} examples cannot be shared equally by "
            f"{world.size} processes. Make it a multiple of training.processes."
        )
    epochs = plan.batch_size * plan.steps / data.n_examples
    if epochs > 1 and not repeat:
        raise LingprobError(
            f"training.steps: {plan.steps} steps of {plan.batch_size} examples are {epochs:.2f} "
            f"epochs of the {data.n_examples} examples. Take {data.n_examples // plan.batch_size} "
            "steps, or set training.repeat_examples: true."
        )
    logger.info("%d examples, %.2f epochs in %d steps", data.n_examples, epochs, plan.steps)


def cut_log(path: Path, step: int) -> None:
    """Delete the lines of a JSON-lines log after a step, and a half-written last line."""
    if not path.is_file():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["step"] <= step]
    write_text("".join(kept), path)
