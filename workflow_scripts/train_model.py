"""Train a language model of one size."""

import json
import shutil
from pathlib import Path

from lingprob.models.manifest import write_manifest
from lingprob.training.launch import kept_model, train
from lingprob.workflow import job

MEANS = (
    "micro_batch_size", "parallel", "repeat_examples", "validation_steps",
    "checkpoint_steps",
)  # fmt: skip

with job(snakemake):
    params, resources, output = snakemake.params, snakemake.resources, snakemake.output
    folder, directory = Path(params.folder), Path(output.manifest).parent
    corpus = json.loads(Path(snakemake.input[0]).read_text())
    keep = [int(step) for step in str(resources.keep_checkpoints).split(",") if step]
    means = {"device": params.device, **{key: resources.get(key) for key in MEANS}}
    train(
        {
            "corpus": corpus,
            "validation_examples": params.validation_examples,
            "plan": params.plan,
            "code": params.code,
            "means": {**means, "keep_checkpoints": keep},
            "folder": str(folder),
            "directory": str(directory),
        },
        # A profile may grant fewer GPUs than a process each.
        resources.gpu or resources.processes,
    )
    shutil.copy(folder / "log.jsonl", output.log)
    origin = f"trained by lingprob, code {params.code}"
    for step, manifest in zip(keep, map(Path, output.kept), strict=True):
        shutil.copytree(kept_model(folder, step), manifest.parent, dirs_exist_ok=True)
        write_manifest(manifest.parent.name, "trained", origin, manifest.parent, manifest)
    write_manifest(params.model, "trained", origin, directory, Path(output.manifest))
    shutil.rmtree(folder)
