"""Import a published table of longest overlaps, with the flags of both conventions."""

from lingprob.io.tables import write_table
from lingprob.papers.leakage.overlap.analysis import published_overlaps
from lingprob.workflow import job

with job(snakemake):
    searched, params = snakemake.wildcards.published, snakemake.params
    overlaps = published_overlaps(params.path, searched, params.scale)
    write_table(overlaps, "overlap", snakemake.output[0])
