"""Fit every linking function of one model under each of its conventions."""

from lingprob.papers.morcela.analysis import fit_model
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    fits = fit_model(
        snakemake.wildcards.model,
        params.datasets,
        [read_table(path, "stimuli") for path in snakemake.input.stimuli],
        [read_table(path, "sentence_scores") for path in snakemake.input.scores],
        default_convention=(params.default_bos, params.default_unigrams),
        folds=params.folds,
        repeats=params.repeats,
        bootstrap=params.bootstrap,
        keep_pairs_together=params.keep_pairs_together,
        seed=params.seed,
        scale=params.scale,
    )
    write_table(fits, "linking_functions", snakemake.output[0], {"seed": params.seed})
