"""Bring sentence log-probabilities from elsewhere into our table."""

from pathlib import Path

from lingprob.scoring.imported import import_sentence_scores
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    stimuli = read_table(snakemake.input.stimuli, "stimuli")
    scores = import_sentence_scores(Path(snakemake.input.scores), stimuli)
    provenance = {"model": snakemake.wildcards.model, "imported_from": snakemake.input.scores}
    write_table(scores, "sentence_scores", snakemake.output[0], provenance)
