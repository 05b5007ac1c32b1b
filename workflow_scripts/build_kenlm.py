"""Have KenLM's programs from the PATH, or build them."""

from pathlib import Path

from lingprob.overlap.ngrams import obtain_programs
from lingprob.workflow import job

with job(snakemake):
    obtain_programs(Path(snakemake.output[0]).parent)
