"""Accuracies by dose, place, distance and control, and the contrasts between them."""

import pandas as pd

from lingprob.context.names import NO_PREFIX
from lingprob.papers.context.compositions import composition_tables
from lingprob.tables import read_as_one, read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    composed = read_as_one(files.composed, "context_judgments")
    alone = [
        read_table(path, "context_judgments", where={"kind": [NO_PREFIX]}) for path in files.sampled
    ]
    prefixes = read_table(files.prefixes, "context_prefixes", ["prefix_id", "similarity"])
    composition, contrasts = composition_tables(
        pd.concat([composed, *alone], ignore_index=True),
        prefixes.set_index("prefix_id")["similarity"],
        **params.settings,
    )
    origin = {"seed": params.settings["seed"]}
    write_csv(composition, output.csv[0])
    write_csv(contrasts, output.csv[1])
    write_table(composition, "context_composition", output.parquet[0], origin)
    write_table(contrasts, "context_contrasts", output.parquet[1], origin)
