"""Compare our reading-time numbers with the published ones."""

from lingprob.papers.leakage.reading.scorecard import compare_reading
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    scorecard = compare_reading(
        params.numbers,
        read_table(files.deltas, "delta_log_likelihood"),
        read_table(files.counts, "reading_counts"),
        read_table(files.published, "published_delta") if files.published else None,
        {name: model["parameters"] for name, model in params.models.items()},
        params.scale,
    )
    write_table(scorecard, "scorecard", snakemake.output[0])
