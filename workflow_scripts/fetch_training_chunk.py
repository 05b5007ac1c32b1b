"""Fetch one chunk of Pythia's training data: from disk, the mirror or the hub's shards."""

from pathlib import Path

from lingprob.tables import write_csv
from lingprob.training.preshuffled import obtain_chunk
from lingprob.workflow import job

with job(snakemake):
    corpus = snakemake.wildcards.corpus
    folder = Path("resources/datasets", corpus)
    write_csv(obtain_chunk(corpus, snakemake.params.chunk, folder), snakemake.output[0])
