"""Fetch one file of a corpus and write its manifest."""

from pathlib import Path

from lingprob.download import RemoteFile, fetch_files
from lingprob.rehearsal.datasets import write_stand_ins
from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    corpus, file = snakemake.wildcards.corpus, snakemake.params.file
    folder = Path("resources/datasets") / corpus
    write_stand_ins(corpus, [file], folder)
    manifest = fetch_files(
        [RemoteFile.of(file)],
        folder,
        dataset=corpus,
        instructions=snakemake.params.instructions,
    )
    write_csv(manifest, snakemake.output[0])
