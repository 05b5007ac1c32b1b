"""Training in this process, or in several processes that torchrun starts."""

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

import torch

from lingprob.errors import LingprobError
from lingprob.io.download import disk_error
from lingprob.io.files import identity_of, write_text
from lingprob.training.corpus import TrainingData
from lingprob.training.model import save_model
from lingprob.training.sizes import ModelSize
from lingprob.training.trainer import Means, Plan, Trainer, world_of

SCRIPTS = Path(__file__).resolve().parents[2]

logger = logging.getLogger(__name__)


def train(job: Mapping[str, Any], processes: int) -> None:
    """Train a model in one or several processes, each on its own GPU, and save it.

    `job` has plain values: corpus (from `prepare_corpus`), validation_examples, plan and means (the
    fields of `Plan` and `Means`; plan.size has those of `ModelSize`), code (digest of the code),
    folder (for checkpoint and log) and directory (for the saved model).
    """
    if processes == 1:
        run(job)
        return
    folder = Path(job["folder"])
    message = folder / "error.txt"
    folder.mkdir(parents=True, exist_ok=True)
    message.unlink(missing_ok=True)
    write_text(json.dumps({**job, "launcher": os.getpid()}), folder / "job.json")
    path = os.pathsep.join(filter(None, [str(SCRIPTS), os.environ.get("PYTHONPATH")]))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={processes}", "-m", __name__, str(folder / "job.json")]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path})
    if message.is_file():
        raise LingprobError(message.read_text(encoding="utf-8"))
    if done.returncode != 0:
        raise LingprobError(
            f"{folder}: torchrun ended with status {done.returncode}. The messages of its "
            "processes are above. Run again: training goes on from the last checkpoint."
        )


def run(job: Mapping[str, Any]) -> None:
    """Train in this process, which may be one of torchrun's, and save the model (as `train`)."""
    plan = Plan(**{**job["plan"], "size": ModelSize(**job["plan"]["size"])})
    data = TrainingData(job["corpus"], job["validation_examples"])
    means = Means(**job["means"])
    # A training that kept models of other steps lacks those of these steps, so it begins again.
    kept = [list(means.keep_checkpoints)] if means.keep_checkpoints else []
    identity = identity_of(
        job["plan"], job["corpus"], job["validation_examples"], job["code"], *kept
    )
    folder, tokenizer = Path(job["folder"]), Path(job["corpus"]["tokenizer"])

    def keep(step: int, model: Any) -> None:
        save_model(model, tokenizer, kept_model(folder, step))

    with world_of(means.device) as world, sole_user(folder, world.rank == 0):
        trainer = Trainer(plan, means, data, folder, identity, world, keep)
        try:
            model = trainer.train()
            if world.rank == 0:
                save_model(model, tokenizer, Path(job["directory"]))
        except torch.OutOfMemoryError as error:
            raise LingprobError(
                f"{folder}: not enough memory on {world.device} ({error}). Lower "
                f"training.micro_batch_size ({means.micro_batch_size})."
            ) from error
        except OSError as error:
            raise disk_error(error, folder) from error


def kept_model(folder: Path, step: int) -> Path:
    """Return the folder that keeps the model after a step until the training is done."""
    return folder / "kept" / str(step)


@contextmanager
def sole_user(folder: Path, wanted: bool) -> Iterator[None]:
    """If `wanted`, lock a training's folder during the body, after any other training in it."""
    if not wanted:
        yield
        return
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logger.warning("%s: another process trains there. Waiting for its end", folder)
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def end_with(launcher: int) -> None:
    """Watch the process that started torchrun, and end this process soon after it has ended."""

    def watch() -> None:
        while Path(f"/proc/{launcher}").exists() or not Path("/proc").exists():
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Train as one of torchrun's processes. Write an error's message to a file for `train`."""
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
