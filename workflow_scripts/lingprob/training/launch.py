"""Starting a training in this process, or in several that torchrun starts."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError
from lingprob.io.download import disk_error
from lingprob.io.files import identity_of, write_text
from lingprob.training.corpus import TrainingData
from lingprob.training.model import save_model
from lingprob.training.parallel import world_of
from lingprob.training.sizes import ModelSize
from lingprob.training.trainer import Means, Plan, Trainer

logger = logging.getLogger(__name__)
SCRIPTS = Path(__file__).resolve().parents[2]
PATIENCE = 20.0  # seconds; processes of a killed training need a moment to end


def train(job: Mapping[str, Any], processes: int) -> None:
    """Train a model and save it, in as many processes as asked for.

    Args:
        job: plain values: corpus (as `prepare_corpus` describes it), validation_examples, plan and
            means (the fields of `Plan` and `Means`; plan.size those of `ModelSize`), code (digest
            of the code that trains), folder (of checkpoint and log) and directory (of the model).
        processes: one on a CPU or a GPU, or several, each with a GPU of its own.

    Raises LingprobError as `Trainer` does, from whichever process it came.
    """
    folder = Path(job["folder"])
    if processes == 1:
        run(job)
        return
    said = folder / "error.txt"
    folder.mkdir(parents=True, exist_ok=True)
    said.unlink(missing_ok=True)
    write_text(json.dumps({**job, "launcher": os.getpid()}), folder / "job.json")
    path = os.pathsep.join(filter(None, [str(SCRIPTS), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", "-m", __name__, str(folder / "job.json")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path})
    if said.is_file():
        raise LingprobError(said.read_text(encoding="utf-8"))
    if done.returncode != 0:
        raise LingprobError(
            f"{folder}: torchrun ended with status {done.returncode}; what its processes said "
            "stands above. Run again: training goes on from the last checkpoint."
        )


def run(job: Mapping[str, Any]) -> None:
    """Train in this process, alone or as one of torchrun's, and save the model."""
    plan = Plan(**{**job["plan"], "size": ModelSize(**job["plan"]["size"])})
    data = TrainingData(job["corpus"], job["validation_examples"])
    means = Means(**job["means"])
    # A training that kept other steps has not kept these: it starts anew.
    kept = [list(means.keep_checkpoints)] if means.keep_checkpoints else []
    identity = identity_of(
        job["plan"], job["corpus"], job["validation_examples"], job["code"], *kept
    )
    folder, tokenizer = Path(job["folder"]), Path(job["corpus"]["tokenizer"])

    def keep(step: int, model: Any) -> None:
        save_model(model, tokenizer, kept_model(folder, step))

    with world_of(job["means"]["device"]) as world, sole_user(folder, world.is_first):
        trainer = Trainer(plan, means, data, folder, identity, world, keep)
        try:
            model = trainer.train()
            if world.is_first:
                save_model(model, tokenizer, Path(job["directory"]))
        except OSError as error:
            raise disk_error(error, folder) from error


def kept_model(folder: Path, step: int) -> Path:
    """Return where a training keeps its model after a step, until the training is done."""
    return folder / "kept" / str(step)


@contextmanager
def sole_user(folder: Path, wanted: bool) -> Iterator[None]:
    """Hold a lock on a training's folder, if `wanted`, so that no two trainings write there.

    Raises LingprobError if another process still holds it after PATIENCE seconds.
    """
    if not wanted:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as stream:
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise LingprobError(
                        f"{folder}: another process is training there. Wait for it, or end it, "
                        "and run again."
                    ) from None
                time.sleep(0.5)
        yield


def end_with(launcher: int) -> None:
    """End this process soon after the one that started torchrun ended, however it did."""

    def watch() -> None:
        while Path(f"/proc/{launcher}").exists() or not Path("/proc").exists():
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Be one of torchrun's processes; the first error's message goes where `train` looks."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    logging.basicConfig(level=logging.INFO)
    end_with(job["launcher"])
    try:
        run(job)
    except LingprobError as error:
        write_text(str(error), Path(job["folder"]) / "error.txt")
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
