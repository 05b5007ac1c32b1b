"""Training: steps of accumulated gradients, logged, validated, saved, resumed."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.training.checkpoint import cut_log, load_checkpoint, save_checkpoint
from lingprob.training.corpus import TrainingData
from lingprob.training.model import SummedLoss, build_model
from lingprob.training.parallel import World, exchange_gradients, spread
from lingprob.training.rows import examples_of_step
from lingprob.training.sizes import ModelSize
from lingprob.training.updates import (
    LossScale,
    build_optimizer,
    choose_dtype,
    learning_rate,
    move_weights,
    warmup_steps,
)

logger = logging.getLogger(__name__)

# Dense peak in half precision as the maker states it, FLOP/s, by a part of the device's name.
PEAKS = {
    "H200": 989e12,
    "H100": 989e12,
    "A100": 312e12,
    "L40S": 362e12,
    "L4": 121e12,
    "A40": 150e12,
    "RTX 8000": 130.5e12,
    "V100": 125e12,
    "T4": 65e12,
}
SIDE, TRIALS = 1024, 5


@dataclass(frozen=True)
class Plan:
    """All that the weights depend on besides the data."""

    size: ModelSize
    vocabulary: int
    context_window: int
    batch_size: int
    steps: int
    seed: int
    precision: str
    learning_rate: float
    # From here as in the paper (leakage, Appendix A), and where it names none, as Pythia's.
    lowest_learning_rate: float = 0.0001  # of the last step
    warmup: float = 0.01  # share of the steps in which the learning rate grows
    betas: tuple[float, float] = (0.9, 0.95)  # Adam's
    weight_decay: float = 0.1  # of matrices
    clip: float = 1.0  # largest norm of the gradients


@dataclass(frozen=True)
class Means:
    """How the work is done; the weights do not depend on it (but for rounding)."""

    device: str
    micro_batch_size: int
    repeat_examples: bool
    validation_steps: int
    checkpoint_steps: int
    compile: str = "auto"
    keep_checkpoints: Sequence[int] = ()


class Trainer:
    """A model in training in this process, one of a `World`.

    Args:
        plan, means: what is trained, and how.
        data: the examples.
        folder: of the checkpoint and the log, which a later run goes on from.
        identity: of plan, data and code; only a checkpoint of the same one is gone on from.
        world: the processes.
        keep: what the first process does with the model after a step of `means.keep_checkpoints`.

    Raises LingprobError if the batch is larger than the data or no multiple of the processes, or if
    there are fewer examples than the steps need and none may come twice.
    """

    def __init__(
        self,
        plan: Plan,
        means: Means,
        data: TrainingData,
        folder: Path,
        identity: str,
        world: World,
        keep: Callable[[int, nn.Module], None] | None = None,
    ) -> None:
        self.keep = keep
        check_batch(plan, data, world)
        check_epochs(plan, data, means.repeat_examples)
        self.plan, self.means, self.data, self.world = plan, means, data, world
        self.folder, self.identity = folder, identity
        self.dtype = choose_dtype(plan.precision, world.device)
        self.model = build_model(
            plan.size, plan.vocabulary, plan.context_window, plan.seed, data.separator
        ).to(world.device)
        layers = list(self.model.gpt_neox.layers)
        if means.compile == "true" or (means.compile == "auto" and world.device.type == "cuda"):
            for layer in layers:
                layer.compile()
        self.loss = spread(SummedLoss(self.model, self.dtype), world)
        self.optimizer = build_optimizer(self.model, plan.betas, plan.weight_decay)
        self.scale = LossScale(self.dtype)
        self.warmup = warmup_steps(plan.steps, plan.warmup)
        self.peak = peak_flops(world.device, self.dtype)

    def train(self) -> nn.Module:
        """Do all steps that are left, and return the model.

        Raises LingprobError as `step` does, or if memory runs out.
        """
        try:
            self._train()
        except torch.OutOfMemoryError as error:
            raise LingprobError(
                f"{self.folder}: {self.world.device} has not enough memory ({error}). Lower "
                f"training.micro_batch_size ({self.means.micro_batch_size}). The checkpoint before "
                "is kept."
            ) from error
        return self.model

    def _train(self) -> None:
        log = self.folder / "log.jsonl"
        self.folder.mkdir(parents=True, exist_ok=True)
        done = load_checkpoint(
            self.folder / "checkpoint.pt", self.identity, self.loss, self.optimizer, self.scale
        )
        if self.world.is_first:
            cut_log(log, done)
        tokens = self.plan.batch_size * self.plan.context_window
        with Progress(self.plan.steps * tokens, self.folder.name, "tokens") as progress:
            progress.bar.disable = progress.bar.disable or not self.world.is_first
            progress.resume_at(done * tokens)
            for step in range(done + 1, self.plan.steps + 1):
                record = self.step(step)
                wanted = step in self.means.keep_checkpoints and self.world.is_first
                if wanted and self.keep is not None:
                    self.keep(step, self.model)
                if step % self.means.validation_steps == 0 or step == self.plan.steps:
                    record["validation_loss"] = self.validation_loss()
                if self.world.is_first:
                    with open(log, "a", encoding="utf-8") as stream:
                        stream.write(json.dumps(record) + "\n")
                progress.bar.set_postfix(loss=f"{record['loss']:.3f}", mfu=record["mfu"])
                progress.advance(tokens)
        if done < self.plan.steps:
            self.save(self.plan.steps)

    def save(self, step: int) -> None:
        """Write a checkpoint of the weights after a step, which are known to give finite losses."""
        save_checkpoint(
            self.folder / "checkpoint.pt", self.identity, step, self.loss, self.optimizer,
            self.scale, self.world,
        )  # fmt: skip

    def step(self, step: int) -> dict[str, Any]:
        """Do one step; return its log record.

        Where a checkpoint of the step before is due, it is written once this step's loss is known
        to be finite, so that a training that broke goes on from weights that are good.

        Raises LingprobError that names the example if the loss is not finite, or says so if the
        gradients are not; the weights are then as they were.
        """
        plan, world, started = self.plan, self.world, time.perf_counter()
        rate = learning_rate(
            step, plan.steps, warmup=self.warmup,
            highest=plan.learning_rate, lowest=plan.lowest_learning_rate,
        )  # fmt: skip
        numbers = examples_of_step(step, plan.batch_size, self.data.n_examples, plan.seed)
        mine = numbers[world.rank :: world.size]
        loss = self.accumulate(mine)
        if not math.isfinite(loss):
            raise self.culprit(step, mine)
        if (step - 1) % self.means.checkpoint_steps == 0 and step > 1:
            self.save(step - 1)
        norm = move_weights(self.loss.parameters(), self.optimizer, self.scale, rate, plan.clip)
        tokens = plan.batch_size * plan.context_window
        seconds = time.perf_counter() - started
        flops = plan.size.flops_per_token(plan.vocabulary, plan.context_window) * tokens
        mfu = None if self.peak is None else flops / seconds / (self.peak * world.size)
        return {
            "step": step,
            "tokens": step * tokens,
            "loss": loss,
            "learning_rate": rate,
            "gradient_norm": norm if math.isfinite(norm) else None,
            "loss_scale": self.scale.value,
            "seconds": round(seconds, 4),
            "tokens_per_second": round(tokens / seconds, 1),
            "mfu": None if mfu is None else round(mfu, 4),
        }

    def accumulate(self, mine: np.ndarray) -> float:
        """Add up the gradients of this process's examples; return the mean loss of all, nats."""
        tokens = self.plan.batch_size * self.plan.context_window
        # Processes' gradients are averaged, so each one's share counts `size` times.
        factor = self.scale.value * self.world.size / tokens
        total = torch.zeros((), device=self.world.device)
        parts = np.array_split(mine, math.ceil(len(mine) / self.means.micro_batch_size))
        for number, part in enumerate(parts, start=1):
            rows = self.on_device(self.data.take(part))
            with exchange_gradients(self.loss, number == len(parts)), self.autocast():
                loss = self.loss(rows)
                (loss * factor).backward()
            total += loss.detach()
        return self.world.sum(total).item() / tokens

    @torch.no_grad()
    def validation_loss(self) -> float | None:
        """Return the mean -ln p (nats a token) of the examples held out, None without any."""
        rows = self.data.validation()
        if not len(rows):
            return None
        total = torch.zeros((), device=self.world.device)
        for part in np.array_split(rows, math.ceil(len(rows) / self.means.micro_batch_size)):
            with self.autocast():
                # Every process validates all: the same weights, and no exchange to wait for.
                total += self.loss(self.on_device(part))
        loss = total.item() / (len(rows) * self.plan.context_window)
        if not math.isfinite(loss):
            raise LingprobError(
                f"{self.folder}: the loss of the validation examples is not finite. The checkpoint "
                "before is kept. Lower training.learning_rate, or use precision float32."
            )
        return loss

    def on_device(self, rows: np.ndarray) -> torch.Tensor:
        """Return rows of token ids as a tensor where the model is."""
        tensor = torch.from_numpy(rows)
        if self.world.device.type == "cuda":
            return tensor.pin_memory().to(self.world.device, non_blocking=True)
        return tensor

    def autocast(self) -> torch.autocast:
        """Return the context in which products are in half precision, if they are."""
        return torch.autocast(
            self.world.device.type, dtype=self.dtype, enabled=self.dtype != torch.float32
        )

    @torch.no_grad()
    def culprit(self, step: int, mine: np.ndarray) -> LingprobError:
        """Find the examples whose loss is not finite and word the error."""
        bad = []
        for number in mine:
            with self.autocast():
                loss = self.loss(self.on_device(self.data.take(np.array([number]))))
            if not math.isfinite(loss.item()):
                bad.append(self.data.place(int(number)))
        found = [place for places in self.world.gather(bad) for place in places]
        return LingprobError(
            f"{self.folder}: the loss of step {step} is not finite. Examples at fault: "
            f"{'; '.join(found[:5]) or 'none alone'} ({len(found)} of {self.plan.batch_size}). The "
            "checkpoint before is kept. Check these rows, lower training.learning_rate, or use "
            "precision float32."
        )


def check_batch(plan: Plan, data: TrainingData, world: World) -> None:
    """Raise LingprobError unless every process gets its share of every batch."""
    if plan.batch_size > data.n_examples:
        raise LingprobError(
            f"training.batch_size: a step accumulates {plan.batch_size} examples, but the data "
            f"have {data.n_examples} of {plan.context_window + 1} tokens. Lower the batch size or "
            "training.context_window, or select more chunks (overlap.chunks_selected)."
        )
    if plan.batch_size % world.size:
        raise LingprobError(
            f"training.batch_size: {plan.batch_size} examples cannot be shared equally by "
            f"{world.size} processes. Make it a multiple of training.processes."
        )


def check_epochs(plan: Plan, data: TrainingData, repeat_examples: bool) -> None:
    """Raise LingprobError if examples come more than once and may not (leakage, §3.1)."""
    needed = plan.batch_size * plan.steps
    epochs = needed / data.n_examples
    if needed > data.n_examples and not repeat_examples:
        raise LingprobError(
            f"training.steps: {plan.steps} steps of {plan.batch_size} examples are {epochs:.2f} "
            f"epochs of the {data.n_examples} examples that there are. Select more chunks "
            f"(overlap.chunks_selected), take {data.n_examples // plan.batch_size} steps, or allow "
            "it with training.repeat_examples: true."
        )
    logger.info("%d examples, %.2f epochs in %d steps", data.n_examples, epochs, plan.steps)


def peak_flops(device: torch.device, dtype: torch.dtype) -> float | None:
    """Return the device's peak in FLOP/s, or None for a GPU that PEAKS does not have.

    A CPU's is measured: the fastest of a few products in `dtype` on the threads in use, by CPU
    time, so that other work on the machine does not count.
    """
    if device.type == "cuda":
        name = torch.cuda.get_device_name(device)
        return next((peak for part, peak in PEAKS.items() if part in name), None)
    left, right = (torch.rand(SIDE, SIDE).to(dtype) for _ in range(2))
    seconds = []
    for _ in range(TRIALS):
        started = time.process_time()
        left @ right
        seconds.append((time.process_time() - started) / torch.get_num_threads())
    return 2 * SIDE**3 / min(seconds)
