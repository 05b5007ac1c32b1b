"""Correlate two groups of participants under several definitions of the groups."""

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.papers.morcela.analysis import correlate_participant_groups
from lingprob.workflow import job

with job(snakemake):
    table = correlate_participant_groups(
        snakemake.params.datasets,
        [read_table(path, "stimuli") for path in snakemake.input.stimuli],
        [read_table(path, "ratings") for path in snakemake.input.ratings],
        seed=snakemake.params.seed,
        scale=snakemake.params.scale,
    )
    write_csv(table, snakemake.output.csv)
    origin = {"seed": snakemake.params.seed, "datasets": snakemake.params.datasets}
    write_table(table, "intergroup_correlation", snakemake.output.parquet, origin)
