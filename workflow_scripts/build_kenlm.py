"""Have KenLM's programs from the PATH, or build them."""

from pathlib import Path

from lingprob.ngrams.lmplz import obtain_programs
from lingprob.workflow import job

with job(snakemake):
    obtain_programs(Path(snakemake.output[0]).parent)
