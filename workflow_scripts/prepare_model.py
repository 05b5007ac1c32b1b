"""Bring a model's weights and tokenizer to a local directory."""

from pathlib import Path

from lingprob.models.prepare import prepare_model
from lingprob.workflow import job

with job(snakemake):
    prepare_model(snakemake.wildcards.model, snakemake.params.entry, Path(snakemake.output[0]))
