"""Fetch one chunk of Pythia's training data: from disk, the mirror or the hub's shards."""

from pathlib import Path

from lingprob.download import RemoteFile, fetch_files
from lingprob.errors import LingprobError
from lingprob.hub import hub_endpoint
from lingprob.rehearsal.datasets import write_stand_ins
from lingprob.tables import write_csv
from lingprob.training.preshuffled import fetch_chunk
from lingprob.workflow import job

with job(snakemake):
    wildcards, shards = snakemake.wildcards, snakemake.params.shards
    name, folder = f"chunk-{wildcards.number}.npy", Path("resources/datasets", wildcards.corpus)
    write_stand_ins(wildcards.corpus, [snakemake.params.file], folder)
    file = RemoteFile.of({"name": name})
    try:
        manifest = fetch_files([file], folder, dataset=wildcards.corpus)
    except LingprobError:
        address = f"{hub_endpoint()}/{shards['path']}"
        fetch_chunk(int(wildcards.number), folder / name, address, shards["bytes"])
        manifest = fetch_files([file], folder, dataset=wildcards.corpus)
    write_csv(manifest, snakemake.output[0])
