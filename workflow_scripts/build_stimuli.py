"""Parse a data set to a stimulus table and a table of single judgments."""

from pathlib import Path

from lingprob.io.schemas import SCHEMAS
from lingprob.io.tables import write_csv, write_table
from lingprob.stimuli.build import build_stimuli
from lingprob.workflow import job

with job(snakemake):
    dataset, entry = snakemake.wildcards.dataset, snakemake.params.entry
    stimuli, ratings = build_stimuli(
        dataset,
        entry,
        Path("resources/datasets") / entry.get("files_of", dataset),
        snakemake.params.seed,
        snakemake.resources.sentences_needed,
    )
    write_table(ratings, "ratings", snakemake.output.ratings, {"dataset": dataset})
    table = stimuli[SCHEMAS["stimuli"].names]
    write_table(table, "stimuli", snakemake.output.stimuli, {"dataset": dataset})
    write_csv(stimuli.dropna(axis="columns", how="all"), snakemake.output.csv)
