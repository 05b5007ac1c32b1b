"""Fetch a data set's files and write their manifest."""

from pathlib import Path

from lingprob.io.hub_rows import fetch_dataset
from lingprob.io.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    dataset, params = snakemake.wildcards.dataset, snakemake.params
    folder = Path(snakemake.output[0]).parent
    manifest = fetch_dataset(dataset, params.entry, folder, code=params.code)
    write_csv(manifest, snakemake.output[0])
