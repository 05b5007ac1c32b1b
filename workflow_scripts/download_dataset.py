"""Fetch a data set's files and write their manifest."""

from pathlib import Path

from lingprob.download import RemoteFile, fetch_files
from lingprob.rehearsal.datasets import write_stand_ins
from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    dataset, entry = snakemake.wildcards.dataset, snakemake.params.entry
    folder = Path(snakemake.output[0]).parent
    write_stand_ins(dataset, entry["files"], folder, snakemake.input.get("words"))
    manifest = fetch_files(
        map(RemoteFile.of, entry["files"]),
        folder,
        dataset=dataset,
        instructions=entry.get("instructions"),
    )
    write_csv(manifest, snakemake.output[0])
