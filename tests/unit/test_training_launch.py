"""How a training starts: the lock on its folder, torchrun's processes, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lingprob.errors import LingprobError
from lingprob.training import launch
from training_for_tests import job, losses, save_corpus


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


def test_models_that_are_kept_lie_with_the_checkpoint():
    assert launch.kept_model(Path("a"), 3) == Path("a/kept/3")


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
