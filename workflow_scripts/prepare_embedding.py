"""Bring a sentence-embedding model's files to a local directory."""

from pathlib import Path

from lingprob.models.prepare import prepare_embedding
from lingprob.workflow import job

with job(snakemake):
    prepare_embedding(
        snakemake.wildcards.embedding, snakemake.params.entry, Path(snakemake.output[0])
    )
