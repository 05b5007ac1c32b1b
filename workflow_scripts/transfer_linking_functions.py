"""Fit linking functions to each of several data sets, and ask them about each."""

from lingprob.papers.morcela.rated import read_datasets
from lingprob.papers.morcela.transfer import transfer
from lingprob.tables import write_table
from lingprob.workflow import job

with job(snakemake):
    params, given = snakemake.params, snakemake.input
    table = transfer(
        snakemake.wildcards.model,
        read_datasets(params.datasets, given.stimuli, given.scores),
        convention=(params.bos, params.unigrams),
        cluster=params.cluster,
        draws=params.bootstrap,
        seed=params.seed,
        scale=params.scale,
    )
    write_table(table, "linking_transfer", snakemake.output[0])
