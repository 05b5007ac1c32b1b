"""Compare our trained models with what the paper on leakage states of its own."""

from lingprob.papers.leakage.training.scorecard import compare_training
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    perplexity = read_table(snakemake.input[0], "perplexity")
    scorecard = compare_training(snakemake.params.published, perplexity, snakemake.params.scale)
    write_table(scorecard, "scorecard", snakemake.output[0])
