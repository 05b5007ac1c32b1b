"""A model's accuracies with intervals, regressions, matrices and correlations."""

from pathlib import Path

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.papers.context.summary import Settings, summarise_datasets
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    tables = summarise_datasets(
        files.judgments,
        read_table(files.unprefixed, "context_unprefixed_judgments"),
        params.datasets,
        read_table(files.overlap, "context_overlap"),
        read_table(files.prefix_overlap, "context_prefix_overlap"),
        Settings(**params.settings),
    )
    for parquet, csv in zip(map(Path, output.parquet), output.csv, strict=True):
        name = parquet.parent.name
        write_csv(tables[name], csv)
        write_table(tables[name], f"context_{name}", parquet, {"seed": params.settings["seed"]})
