"""What perturbed prefixes change, and prefixes that a suite shares."""

from pathlib import Path

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.papers.context.summary import Settings, summarise_changed
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    prefixes = read_table(files.prefixes, "context_prefixes", ["perturbation", "similarity"])
    tables = summarise_changed(
        read_table(files.judgments, "context_judgments", where={"dataset": [params.dataset]}),
        read_table(files.perturbed, "context_judgments"),
        prefixes.groupby("perturbation")["similarity"].mean(),
        Settings(**params.settings),
    )
    for parquet, csv in zip(map(Path, output.parquet), output.csv, strict=True):
        name = parquet.parent.name
        write_csv(tables[name], csv)
        write_table(tables[name], f"context_{name}", parquet, {"seed": params.settings["seed"]})
