"""Train a language model of one size."""

import json
import shutil
from pathlib import Path

from lingprob.models.folders import write_manifest
from lingprob.training.launch import kept_model, train
from lingprob.workflow import job, work_settings

WORK_SETTINGS = (
    "micro_batch_size", "repeat_examples", "validation_steps", "checkpoint_steps",
    "keep_checkpoints", "processes",
)  # fmt: skip

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    folder, directory = Path(params.folder), Path(output.manifest).parent
    corpus = json.loads(Path(snakemake.input[0]).read_text())
    how = work_settings(snakemake, *WORK_SETTINGS, section="training")
    processes = how.pop("processes")
    train(
        {
            "corpus": corpus,
            "validation_examples": params.validation_examples,
            "plan": params.plan,
            "code": params.code,
            "means": {**how, "device": params.device},
            "folder": str(folder),
            "directory": str(directory),
        },
        # A profile may grant fewer GPUs than a process each.
        snakemake.resources.gpu or processes,
    )
    shutil.copy(folder / "log.jsonl", output.log)
    origin = f"trained by lingprob, code {params.code}"
    for step, manifest in zip(how["keep_checkpoints"], map(Path, output.kept), strict=True):
        shutil.copytree(kept_model(folder, step), manifest.parent, dirs_exist_ok=True)
        write_manifest(manifest.parent.name, "trained", origin, manifest.parent, manifest)
    write_manifest(params.model, "trained", origin, directory, Path(output.manifest))
    shutil.rmtree(folder)
