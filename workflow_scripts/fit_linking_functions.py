"""Fit every linking function of one model: by convention, and to shared resamples."""

from lingprob.io.tables import write_csv, write_table
from lingprob.papers.morcela.analysis import draw_parameters, fit_model, read_datasets
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    files = snakemake.input
    given = (
        snakemake.wildcards.model,
        read_datasets(params.datasets, files.stimuli, files.scores),
    )
    shared = {
        "default_convention": tuple(params.convention),
        "bootstrap": params.bootstrap,
        "seed": params.seed,
        "scale": params.scale,
    }
    folds = {"folds": params.folds, "repeats": params.repeats}
    units = {"cluster": params.cluster, "keep_together": params.keep_together}
    origin = {"seed": params.seed, **units}
    fits = fit_model(*given, **shared, **folds, **units)
    write_table(fits, "linking_functions", output.fits, origin)
    write_csv(fits, output.csv)
    draws = draw_parameters(*given, **shared, **folds, **units)
    write_table(draws, "linking_draws", output.draws, origin)
