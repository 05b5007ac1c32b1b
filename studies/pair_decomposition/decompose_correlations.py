"""Decompose the r of one model's linking functions between and within groups of sentences."""

from lingprob.io.tables import write_csv
from lingprob.papers.morcela.analysis import read_datasets
from lingprob.workflow import job
from studies.pair_decomposition.analysis import decompose_model

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    table = decompose_model(
        snakemake.wildcards.model,
        read_datasets(params.datasets, files.stimuli, files.scores),
        convention=tuple(params.convention),
        bootstrap=params.bootstrap,
        seed=params.seed,
    )
    write_csv(table.assign(scale=params.scale), snakemake.output[0])
