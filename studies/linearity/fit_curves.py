"""Fit the regressions of one data set with curves of surprisal in the place of lines."""

from lingprob.io.tables import read_table, write_csv
from lingprob.papers.leakage.regressions import read_study
from lingprob.workflow import job
from studies.linearity.analysis import surprisal_curves

with job(snakemake):
    params, files, output = snakemake.params, snakemake.input, snakemake.output
    study = read_study(
        snakemake.wildcards.dataset, params.entry, params.models, dict(files.items())
    )
    deltas = read_table(files.deltas, "delta_log_likelihood")
    gains, curves = surprisal_curves(study, deltas, **params.options)
    write_csv(gains, output.gains)
    write_csv(curves, output.curves)
