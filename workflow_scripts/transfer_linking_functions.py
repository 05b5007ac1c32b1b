"""Fit linking functions to each of several data sets, and ask them about each."""

from lingprob.papers.morcela.predictions import DataSet
from lingprob.papers.morcela.transfer import transfer
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, given = snakemake.params, snakemake.input
    data_sets = [
        DataSet(read_table(stimuli, "stimuli"), read_table(scores, "sentence_scores"))
        for stimuli, scores in zip(given.stimuli, given.scores, strict=True)
    ]
    table = transfer(
        snakemake.wildcards.model,
        dict(zip(params.datasets, data_sets, strict=True)),
        convention=(params.bos, params.unigrams),
        cluster=params.cluster,
        draws=params.bootstrap,
        seed=params.seed,
        scale=params.scale,
    )
    write_table(table, "linking_transfer", snakemake.output[0])
