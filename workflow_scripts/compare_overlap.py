"""Compare our overlaps with what the paper on leakage states of its own."""

from lingprob.papers.leakage.overlap.scorecard import compare_overlap
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    overlaps = read_table(snakemake.input.overlaps, "overlap")
    chunks = read_table(snakemake.input.chunks, "overlap_chunks")
    scorecard = compare_overlap(snakemake.params.published, overlaps, chunks, snakemake.params.scale)
    write_table(scorecard, "scorecard", snakemake.output[0])
