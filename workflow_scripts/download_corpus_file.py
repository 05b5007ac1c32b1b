"""Fetch one file of a corpus and write its manifest."""

from pathlib import Path

from lingprob.io.tables import write_csv
from lingprob.training.preshuffled import obtain_file
from lingprob.workflow import job

with job(snakemake):
    corpus, entry = snakemake.wildcards.corpus, snakemake.params.entry
    write_csv(obtain_file(corpus, entry, Path("resources/datasets", corpus)), snakemake.output[0])
