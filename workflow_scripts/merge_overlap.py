"""Add up the counts of a corpus's files."""

from lingprob.overlap.streaming import load_result, merge
from lingprob.workflow import job

with job(snakemake):
    merge([load_result(path) for path in snakemake.input]).save(snakemake.output[0])
