"""A model's accuracies, regressions, matrices, correlations, and what changed prefixes change."""

from pathlib import Path

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.papers.context.summary import Settings, summarise_changed, summarise_datasets
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    settings = Settings(params.fewest_pairs, params.bootstrap, params.seed, params.scale)
    tables = summarise_datasets(
        files.judgments,
        read_table(files.unprefixed, "context_unprefixed_judgments"),
        params.datasets,
        read_table(files.overlap, "context_overlap"),
        read_table(files.prefix_overlap, "context_prefix_overlap"),
        settings,
    )
    prefixes = read_table(files.prefixes, "context_prefixes", ["perturbation", "similarity"])
    changed = summarise_changed(
        read_table(files.judgments, "context_judgments", where={"dataset": [params.primary]}),
        read_table(files.perturbed, "context_judgments"),
        prefixes.groupby("perturbation")["similarity"].mean(),
        settings,
    )
    for found, parquets, csvs in (
        (tables, output.parquet, output.csv),
        (changed, output.changed, output.changed_csv),
    ):
        for parquet, csv in zip(parquets, csvs, strict=True):
            name = Path(parquet).parent.name
            write_csv(found[f"context_{name}"], csv)
            write_table(found[f"context_{name}"], f"context_{name}", parquet, {"seed": params.seed})
