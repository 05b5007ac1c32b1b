"""Train a language model of one size on a corpus with passages that people read."""

import json
import shutil
from pathlib import Path

from lingprob.models.manifest import write_manifest
from lingprob.training.launch import train
from lingprob.workflow import job, means

MEANS = (
    "micro_batch_size", "parallel", "repeat_examples", "validation_steps", "checkpoint_steps",
    "processes",
)  # fmt: skip

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    how = means(snakemake, *MEANS, section="training")
    processes = how.pop("processes")
    directory = Path(output.manifest).parent
    train(
        {
            "corpus": json.loads(Path(snakemake.input[0]).read_text()),
            "validation_examples": params.validation_examples,
            "plan": params.plan,
            "code": params.code,
            "means": {**how, "device": params.device},
            "folder": params.folder,
            "directory": str(directory),
        },
        # A profile may grant fewer GPUs than a process each.
        snakemake.resources.gpu or processes,
    )
    shutil.copy(Path(params.folder) / "log.jsonl", output.log)
    origin = f"trained by lingprob on passages, code {params.code}"
    write_manifest(directory.name, "trained", origin, directory, Path(output.manifest))
    shutil.rmtree(params.folder)
