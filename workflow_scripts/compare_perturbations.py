"""Accuracies after perturbed prefixes beside the original's, by tokens and by sentences."""

import pandas as pd

from lingprob.context.names import MATCHED, NO_PREFIX
from lingprob.context.responses import in_categories
from lingprob.papers.context.perturbations import perturbation_table
from lingprob.tables import read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    files, settings, output = snakemake.input, snakemake.params.settings, snakemake.output
    prefixes = read_table(files.prefixes, "context_prefixes", ["perturbation", "similarity"])
    tables = [
        perturbation_table(
            in_categories(
                read_table(sampled, "context_judgments", where={"kind": [*MATCHED, NO_PREFIX]})
            ),
            in_categories(read_table(perturbed, "context_judgments")),
            prefixes.groupby("perturbation")["similarity"].mean(),
            **settings,
        )
        for sampled, perturbed in zip(files.sampled, files.perturbed, strict=True)
    ]
    table = pd.concat(tables, ignore_index=True)
    write_csv(table, output.csv)
    write_table(table, "prefix_perturbations", output.parquet, {"seed": settings["seed"]})
