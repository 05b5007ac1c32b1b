"""A model's accuracies on a data set with intervals, regressions, matrices and correlations."""

from pathlib import Path

import pandas as pd

from lingprob.context.responses import in_categories
from lingprob.papers.context.summary import summarise, summarise_primary
from lingprob.tables import read_as_one, read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    judgments = in_categories(read_table(files.judgments, "context_judgments"))
    unprefixed = read_table(files.unprefixed, "context_unprefixed_judgments")
    tables = [summarise(judgments, unprefixed, **params.settings)]
    if files.get("changed_judgments"):
        perturbed = read_table(files.perturbed_prefixes, "context_prefixes")
        primary = summarise_primary(
            judgments,
            in_categories(read_as_one(files.changed_judgments, "context_judgments")),
            perturbed.groupby("perturbation")["similarity"].mean(),
            tables[0]["matrix"],
            read_table(files.overlap, "context_overlap"),
            read_table(files.prefix_overlap, "context_prefix_overlap"),
            **params.settings,
        )
        tables.append(primary)
    for path in map(Path, snakemake.output):
        rows = [part[path.stem] for part in tables if path.stem in part]
        table = pd.concat(rows, ignore_index=True)
        write_table(table, f"context_{path.stem}", path, {"seed": params.settings["seed"]})
