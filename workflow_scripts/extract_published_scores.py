"""Put one model's published scores into the layout of imported ones."""

from pathlib import Path

from lingprob.io.tables import write_csv
from lingprob.stimuli.linguistic_inquiry import published_scores
from lingprob.workflow import job

with job(snakemake):
    path = Path(snakemake.input[0]).parent / snakemake.params.file
    write_csv(published_scores(path, snakemake.wildcards.model), snakemake.output[0])
