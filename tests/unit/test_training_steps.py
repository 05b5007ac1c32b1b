"""One step of training and what is around it: weights moved by hand, time, processes, starts."""

from __future__ import annotations

import json
import math
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from lingprob.errors import LingprobError
from lingprob.io.progress import Progress
from lingprob.training import launch
from lingprob.training import trainer as stepping
from lingprob.training.checkpoint import load_checkpoint
from lingprob.training.parallel import World, world_of
from lingprob.training.updates import LossScale, build_optimizer, move_weights
from training_for_tests import ALONE, CONTEXT_WINDOW, job, losses, save_corpus, trainer

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return save_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def group_of_one():
    """A process that joined others, of which there are none."""
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    dist.destroy_process_group()


# Gradients become new weights.


@pytest.mark.parametrize(
    ("gradient", "clip"),
    [([3.0, 4.0], math.inf), ([3.0, 4.0], 10.0), ([3.0, 4.0], 2.0), ([3e-6, 4e-6], 3e-6)],
)
def test_weights_are_moved_by_gradients_unscaled_and_clipped_as_torch_does(gradient, clip):
    weights, expected = (nn.Parameter(torch.zeros(2)) for _ in range(2))
    unused = nn.Parameter(torch.zeros(1))
    expected.grad = torch.tensor(gradient)
    norm = nn.utils.clip_grad_norm_([expected], clip)
    scale = LossScale(torch.float16)
    scale.value = 8.0
    weights.grad = 8 * torch.tensor(gradient)
    optimizer = torch.optim.SGD([weights, unused], lr=0.0)
    own = {} if clip == math.inf else {"clip": clip}
    found = move_weights([weights, unused], optimizer, scale, 0.5, **own)
    assert found == pytest.approx(norm.item())
    torch.testing.assert_close(weights.detach(), -0.5 * expected.grad, rtol=1e-5, atol=0)
    assert weights.grad is None
    assert scale.good_steps == 1


def test_gradients_that_are_not_finite_are_refused_where_no_scale_is_to_blame():
    weights, scale = nn.Parameter(torch.ones(2)), LossScale(torch.float16)
    optimizer = torch.optim.SGD([weights], lr=0.0)
    for value, after in ((2.0, 1.0), (1.0, None)):
        scale.value, weights.grad = value, torch.tensor([1.0, math.nan])
        if after is None:
            with pytest.raises(LingprobError, match="the gradients are not finite"):
                move_weights([weights], optimizer, scale, 0.5)
        else:
            assert math.isnan(move_weights([weights], optimizer, scale, 0.5))
            assert scale.value == after
        assert weights.tolist() == [1, 1]


def test_matrices_alone_decay_and_no_step_has_a_rate_of_its_own():
    decayed, others = build_optimizer(nn.Linear(3, 2), (0.9, 0.95), 0.1).param_groups
    assert [weight.shape for weight in decayed["params"]] == [(2, 3)]
    assert [weight.shape for weight in others["params"]] == [(2,)]
    assert (decayed["weight_decay"], others["weight_decay"]) == (0.1, 0.0)
    for group in (decayed, others):
        assert (group["lr"], group["betas"], group["eps"]) == (0.0, (0.9, 0.95), 1e-8)


# What a step says and does.


def timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the step take seven thirds of a second."""
    clock = iter([100.0, 100.0 + 7 / 3])
    monkeypatch.setattr(stepping, "time", SimpleNamespace(perf_counter=lambda: next(clock)))


def test_speed_is_of_the_tokens_and_operations_of_a_step(corpus, tmp_path, monkeypatch):
    """180,480 operations on each of 8 x 12 tokens, of 1e8 a second (two layers of width 32)."""
    training = trainer(corpus, tmp_path)
    training.peak = 1e8
    timed(monkeypatch)
    record = training.step(1)
    assert (record["seconds"], record["tokens_per_second"]) == (2.3333, 41.1)
    assert record["mfu"] == 0.0743
    training.peak = None
    timed(monkeypatch)
    assert training.step(2)["mfu"] is None


def test_a_checkpoint_is_of_the_step_before(corpus, tmp_path):
    training = trainer(corpus, tmp_path, means={"checkpoint_steps": 1})
    training.step(1)
    assert not (tmp_path / "checkpoint.pt").exists()
    training.step(2)
    assert torch.load(tmp_path / "checkpoint.pt", weights_only=True)["step"] == 1


def test_what_is_no_checkpoint_is_left_out(tmp_path, caplog):
    torch.save({"step": 3}, tmp_path / "c.pt")
    model = nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    scale = LossScale(torch.float32)
    assert load_checkpoint(tmp_path / "c.pt", "i", model, optimizer, scale) == 0
    assert "c.pt: not a whole checkpoint (holds something else)" in caplog.text


def test_no_pass_has_more_examples_than_are_allowed(corpus, tmp_path):
    """Eight in two equal parts, ten held out in three."""
    training = trainer(corpus, tmp_path, means={"micro_batch_size": 4})
    sizes: list[int] = []
    training.loss.register_forward_pre_hook(lambda _, given: sizes.append(len(given[0])))
    training.step(1)
    assert sizes == [4, 4]
    training.validation_loss()
    assert sizes[2:] == [4, 3, 3]


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_products_are_of_the_precision_asked_for(precision, corpus, tmp_path, monkeypatch):
    monkeypatch.setattr(stepping, "peak_flops", lambda *_: None)
    with trainer(corpus, tmp_path, plan={"precision": precision}).autocast():
        product = torch.ones(2, 2) @ torch.ones(2, 2)
    assert product.dtype == getattr(torch, precision)


@pytest.mark.parametrize(
    ("asked", "device", "compiled"),
    [("true", "cpu", 2), ("false", "cuda", 0), ("auto", "cpu", 0), ("auto", "cuda", 2)],
)
def test_layers_are_compiled_where_it_pays_or_is_asked_for(
    asked, device, compiled, corpus, tmp_path, monkeypatch
):
    layers: list[nn.Module] = []
    monkeypatch.setattr(nn.Module, "compile", lambda layer: layers.append(layer))
    monkeypatch.setattr(nn.Module, "to", lambda module, *_: module)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA H200")
    world = World(0, 1, torch.device(device))
    trainer(corpus, tmp_path, world, means={"compile": asked})
    assert len(set(layers)) == compiled


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize("rank", [0, 1])
def test_progress_counts_tokens_from_where_the_training_stood(
    terminal, rank, corpus, tmp_path, monkeypatch, group_of_one
):
    """Steps of 8 x 12 tokens; of the bar on a terminal one process takes care."""
    shown: list[Progress] = []
    drawn: list[bool] = []

    class Noted(Progress):
        def __enter__(self) -> Progress:
            shown.append(self)
            return self

        def advance(self, count: int = 1) -> None:
            super().advance(count)
            drawn.append(not self.bar.disable)

    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    stderr = SimpleNamespace(isatty=lambda: terminal)
    monkeypatch.setattr("lingprob.io.progress.sys", SimpleNamespace(stderr=stderr))
    monkeypatch.setattr(stepping, "Progress", Noted)
    folder = tmp_path / "results" / "work"
    trainer(corpus, folder, plan={"steps": 2}).train()
    trainer(corpus, folder, World(rank, 2, CPU), plan={"steps": 3}).train()
    tokens = 8 * CONTEXT_WINDOW
    assert [progress.total for progress in shown] == [2 * tokens, 3 * tokens]
    assert [progress.done_before for progress in shown] == [0, 2 * tokens]
    assert [progress.done for progress in shown] == [2 * tokens, 3 * tokens]
    assert drawn == [terminal, terminal, terminal and rank == 0]


# Processes.


@pytest.mark.parametrize(("gpu", "backend"), [(True, "nccl"), (False, "gloo")])
def test_processes_join_to_train_and_part_when_they_are_done(gpu, backend, monkeypatch):
    events: list[str] = []

    def gather(values: list[Any], own: Any) -> None:
        values[0], values[1] = "theirs", own

    monkeypatch.setattr(torch.cuda, "is_available", lambda: gpu)
    monkeypatch.setattr(torch.cuda, "set_device", lambda device: events.append(str(device)))
    monkeypatch.setattr(dist, "init_process_group", events.append)
    monkeypatch.setattr(dist, "destroy_process_group", lambda: events.append("parted"))
    monkeypatch.setattr(dist, "all_gather_object", gather)
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.delenv("LOCAL_RANK", raising=False)
    with world_of("auto") as world:
        assert (world.rank, world.size, world.is_first) == (1, 2, False)
        assert world.gather("ours") == ["theirs", "ours"]
    assert events == [*(["cuda:0"] if gpu else []), backend, "parted"]


def test_other_processes_than_the_first_write_nothing(corpus, tmp_path, group_of_one):
    kept: list[Any] = []
    second = World(1, 2, CPU)
    changes = {"plan": {"steps": 3}, "means": {"keep_checkpoints": [1], "checkpoint_steps": 1}}
    trainer(corpus, tmp_path / "two", second, lambda *of: kept.append(of), **changes).train()
    assert os.listdir(tmp_path / "two") == []
    assert kept == []
    alone = trainer(corpus, tmp_path / "one", ALONE, lambda *of: kept.append(of), **changes)
    assert alone.train() is alone.model
    assert kept == [(1, alone.model)]
    # Nobody has to take what is kept.
    trainer(corpus, tmp_path / "nobody", **changes).train()


def test_what_processes_share_goes_on_from_its_checkpoint(
    corpus, tmp_path, monkeypatch, group_of_one
):
    """The first of two processes: its weights, and another training that goes on from them."""
    one, other = (trainer(corpus, tmp_path, World(0, 2, CPU)) for _ in range(2))
    assert isinstance(one.loss, DistributedDataParallel)
    one.peak = 1e8
    with monkeypatch.context() as patched:
        timed(patched)
        assert one.step(1)["mfu"] == 0.0371  # half of what one alone would have
    one.step(2)
    one.save(2)
    path = tmp_path / "checkpoint.pt"
    assert load_checkpoint(path, "i", other.loss, other.optimizer, other.scale) == 2
    for step in (3, 4):
        assert other.step(step)["loss"] == one.step(step)["loss"]


class Clock:
    """A clock that sleep alone moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_lock_is_waited_for_twenty_seconds(tmp_path, monkeypatch):
    monkeypatch.setattr(launch, "time", clock := Clock())
    folder = tmp_path / "results" / "training"
    with (
        launch.sole_user(folder, wanted=True),
        pytest.raises(LingprobError, match="another process is training there"),
        launch.sole_user(folder, wanted=True),
    ):
        pass
    assert 1020 < clock.now <= 1021
    assert (folder / "lock").is_file()
    # It is free again, and others do not ask for it.
    with launch.sole_user(folder, wanted=True), launch.sole_user(folder, wanted=False):
        assert clock.now <= 1021


class Torchrun:
    """Stands for torchrun: its one process is this one, whose training fails with `error`."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, error: Exception | None, status: int = 0):
        self.monkeypatch, self.error, self.status = monkeypatch, error, status
        self.launchers: list[int] = []
        monkeypatch.setattr(launch, "end_with", self.launchers.append)
        monkeypatch.setattr(launch, "run", self.train)
        monkeypatch.setattr(launch.subprocess, "run", self)

    def train(self, job: dict[str, Any]) -> None:
        self.job = job
        if self.error:
            raise self.error

    def __call__(self, command: list[str], env: dict[str, str]) -> Any:
        self.command, self.path = command, env["PYTHONPATH"].split(os.pathsep)
        self.monkeypatch.setattr(launch.sys, "argv", ["launch", command[-1]])
        try:
            launch.main()
        except SystemExit as ended:
            self.status = int(str(ended.code))
        return subprocess.CompletedProcess(command, self.status)


def test_torchrun_gets_the_job_and_its_error_is_told_once(tmp_path, monkeypatch):
    described = {"folder": str(tmp_path / "results" / "work"), "seed": 3}
    torchrun = Torchrun(monkeypatch, LingprobError("no memory"))
    with pytest.raises(LingprobError, match=r"^no memory$"):
        launch.train(described, 2)
    assert torchrun.job == {**described, "launcher": os.getpid()}
    assert torchrun.launchers == [os.getpid()]
    assert torchrun.command[1:3] == ["-m", "torch.distributed.run"]
    assert torchrun.command[-4:-1] == ["--nproc-per-node=2", "-m", "lingprob.training.launch"]
    assert (Path(torchrun.path[0]) / "lingprob" / "training" / "launch.py").is_file()
    # A later one in the same folder that goes well is not told of it.
    torchrun.error, torchrun.status = None, 0
    launch.train(described, 2)
    assert sorted(os.listdir(described["folder"])) == ["job.json"]
    torchrun.status = 1
    with pytest.raises(LingprobError, match="torchrun ended with status 1"):
        launch.train(described, 2)


@pytest.mark.parametrize(
    ("there", "ends"),
    [({"/proc", "/proc/7"}, False), ({"/proc"}, True), (set(), False)],
)
def test_a_process_ends_with_the_one_that_started_it(there, ends, monkeypatch):
    """Where there is no /proc, nobody can tell."""
    started: list[Any] = []
    events: list[Any] = []

    class Looked(Exception):
        """It waits to look again."""

    def sleep(seconds: float) -> None:
        events.append(seconds)
        raise Looked

    monkeypatch.setattr(launch, "Path", lambda path: SimpleNamespace(exists=lambda: path in there))
    monkeypatch.setattr(launch, "time", SimpleNamespace(sleep=sleep))
    monkeypatch.setattr(launch.os, "_exit", lambda status: events.append(f"ended {status}"))
    monkeypatch.setattr(
        launch.threading, "Thread",
        lambda target, daemon: started.append((target, daemon)) or SimpleNamespace(start=target),
    )  # fmt: skip
    if ends:
        launch.end_with(7)
    else:
        with pytest.raises(Looked):
            launch.end_with(7)
    assert [daemon for _, daemon in started] == [True]
    assert events == (["ended 1"] if ends else [0.5])


def test_a_training_that_kept_no_steps_starts_anew_for_those_that_are_asked_for(tmp_path):
    corpus = save_corpus(tmp_path / "corpus")
    described = job(corpus, tmp_path, plan={"steps": 2})
    expected = losses(described)
    again = job(corpus, tmp_path, plan={"steps": 2}, means={"keep_checkpoints": [1]})
    assert losses(again) == expected
    assert (launch.kept_model(tmp_path / "work", 1) / "model.safetensors").is_file()


def test_a_training_that_is_done_is_not_saved_again(tmp_path):
    described = job(save_corpus(tmp_path / "corpus"), tmp_path, plan={"steps": 2})
    expected = losses(described)
    checkpoint = tmp_path / "work" / "checkpoint.pt"
    written = checkpoint.stat().st_mtime_ns
    assert losses(described) == expected
    assert checkpoint.stat().st_mtime_ns == written
    described_log = (tmp_path / "work" / "log.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in described_log] == [1, 2]
