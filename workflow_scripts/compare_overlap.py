"""Compare our overlaps with what the paper on leakage states of its own."""

from lingprob.papers.leakage.overlap.scorecard import compare_overlap
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    overlaps = read_table(files.overlaps, "overlap")
    chunks = read_table(files.chunks, "overlap_chunks")
    scorecard = compare_overlap(params.published, overlaps, chunks, params.scale)
    write_table(scorecard, "scorecard", snakemake.output[0])
