"""Starting a training in this process, or in several that torchrun starts."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lingprob.errors import LingprobError
from lingprob.files import write_text
from lingprob.training.corpus import TrainingData, identity_of
from lingprob.training.model import save_model
from lingprob.training.parallel import world_of
from lingprob.training.sizes import ModelSize
from lingprob.training.trainer import Means, Plan, Trainer

logger = logging.getLogger(__name__)
SCRIPTS = Path(__file__).resolve().parents[2]


def train(job: Mapping[str, Any], processes: int) -> None:
    """Train a model and save it, in as many processes as asked for.

    Args:
        job: plain values: corpus (as `prepare_corpus` describes it), validation_examples, plan and
            means (the fields of `Plan` and `Means`; plan.size those of `ModelSize`), folder (of
            checkpoint and log) and directory (of the model).
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
    write_text(json.dumps(dict(job)), folder / "job.json")
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
    identity = identity_of(job["plan"], job["corpus"], job["validation_examples"])
    with world_of(job["means"]["device"]) as world:
        means = Means(**job["means"])
        trainer = Trainer(plan, means, data, Path(job["folder"]), identity, world)
        model = trainer.train()
        if world.is_first:
            save_model(model, Path(job["corpus"]["tokenizer"]), Path(job["directory"]))


def main() -> None:
    """Be one of torchrun's processes; the first error's message goes where `train` looks."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    logging.basicConfig(level=logging.INFO)
    try:
        run(job)
    except LingprobError as error:
        write_text(str(error), Path(job["folder"]) / "error.txt")
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
