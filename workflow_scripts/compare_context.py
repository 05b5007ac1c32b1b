"""Compare our numbers with those in the context paper."""

from lingprob.papers.context.scorecard import compare_context
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = {
        name: read_table(path, f"context_{name}")
        for name, path in zip(params.tables, snakemake.input.tables, strict=True)
    }
    scorecard = compare_context(params.published, tables, params.scale)
    write_table(scorecard, "scorecard", snakemake.output[0])
