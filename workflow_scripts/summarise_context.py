"""Summarise the judgments of a model: accuracies, regressions, matrices and correlations."""

from pathlib import Path

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.papers.context.analysis import Settings, summarise_model
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    prefixes = read_table(files.prefixes, "context_prefixes", ["perturbation", "similarity"])
    tables = summarise_model(
        files.judgments,
        read_table(files.perturbed, "context_judgments"),
        prefixes.groupby("perturbation")["similarity"].mean(),
        read_table(files.overlap, "context_overlap"),
        read_table(files.prefix_overlap, "context_prefix_overlap"),
        params.datasets,
        Settings(params.fewest_pairs, params.bootstrap, params.seed, params.scale),
    )
    for parquet, csv in zip(output.parquet, output.csv, strict=True):
        name = Path(parquet).parent.name
        write_csv(tables[f"context_{name}"], csv)
        write_table(tables[f"context_{name}"], f"context_{name}", parquet, {"seed": params.seed})
