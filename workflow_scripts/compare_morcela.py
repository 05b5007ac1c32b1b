"""Compare our numbers with those in MORCELA."""

from lingprob.papers.morcela.scorecard import compare_morcela
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    stimuli = [read_table(path, "stimuli") for path in snakemake.input.stimuli]
    scorecard = compare_morcela(
        params.published,
        read_table(snakemake.input.linking_functions, "linking_functions"),
        read_table(snakemake.input.intergroup_correlation, "intergroup_correlation"),
        dict(zip(params.datasets, stimuli, strict=True)),
        params.scale,
    )
    write_table(scorecard, "scorecard", snakemake.output[0])
