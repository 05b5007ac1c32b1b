"""Train a model of one size on passages, too, and compute its surprisals of the texts."""

import json
import shutil
from pathlib import Path

from lingprob.io.tables import read_table, write_table
from lingprob.models.folders import write_manifest
from lingprob.models.loading import load_prepared
from lingprob.reading.surprisal import word_surprisals
from lingprob.training.launch import train
from lingprob.workflow import job, work_settings
from studies.doses.insertion import corpus_with_passages

WORK_SETTINGS = ["micro_batch_size", "repeat_examples", "validation_steps", "checkpoint_steps"]

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    how = work_settings(snakemake, "processes", *WORK_SETTINGS, section="training")
    processes = how.pop("processes")
    folder, manifest = Path(params.folder), Path(snakemake.output.manifest)
    texts = [read_table(path, "words") for path in files.words]
    corpus = json.loads(Path(files.corpus).read_text())
    copies = int(snakemake.wildcards.copies)
    task = {
        **params.training,
        "corpus": corpus_with_passages(corpus, texts, copies, folder / "rows", params.training),
        "code": params.code,
        "means": {**how, "device": params.device},
        "folder": str(folder),
        "directory": str(manifest.parent),
    }
    # A profile may grant fewer GPUs than one per process.
    train(task, snakemake.resources.gpu or processes)
    origin = f"trained by lingprob on passages, code {params.code}"
    write_manifest(manifest.parent.name, "trained", origin, manifest.parent, manifest)
    lm, provenance = load_prepared(manifest, params.entry)
    for path, words in zip(snakemake.output.surprisals, texts, strict=True):
        table = word_surprisals(lm, words, **params.surprisal)
        write_table(table, "surprisal", path, provenance)
    shutil.rmtree(folder)
