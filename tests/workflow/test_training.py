"""Training through the workflow: a kill in the middle of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from checkout import command, copy_of_the_checkout, environment, snakemake

TARGET = "results/training/logs/mine.jsonl"
TRAINING = {
    "sizes": {"mine": {"layers": 1, "heads": 1, "width": 16}},
    "steps": 60,
    "checkpoint_steps": 8,
}


def losses(folder: Path) -> list[float]:
    return [json.loads(line)["loss"] for line in (folder / TARGET).read_text().splitlines()]


def test_a_training_killed_in_the_middle_ends_with_the_same_losses(tmp_path):
    arguments = ["--config", f"training={json.dumps(TRAINING)}", "--", TARGET]
    folders = [copy_of_the_checkout(tmp_path / name / "lingprob") for name in ("whole", "killed")]
    whole = snakemake(folders[0], *arguments)
    assert whole.returncode == 0, whole.stdout[-3000:]
    log = folders[1] / "resources/training/mine/log.jsonl"
    process = subprocess.Popen(
        command(*arguments),
        cwd=folders[1],
        env=environment(),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + 300
        while not log.exists() or len(log.read_text().splitlines()) < 20:
            assert process.poll() is None, "ended before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert not (folders[1] / TARGET).exists()
    snakemake(folders[1], "--unlock")
    resumed = snakemake(folders[1], *arguments)
    assert resumed.returncode == 0, resumed.stdout[-3000:]
    said = (folders[1] / "logs/train_model/mine.log").read_text()
    assert "training goes on after step" in said
    assert losses(folders[1]) == losses(folders[0])
    assert len(losses(folders[1])) == 60
