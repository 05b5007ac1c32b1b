"""What curves of surprisal add to the regressions of one data set, and the curves."""

from lingprob.papers.leakage.reading.analysis import read_study
from lingprob.papers.leakage.reading.linearity import surprisal_curves
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, files, output = snakemake.params, snakemake.input, snakemake.output
    study = read_study(
        snakemake.wildcards.dataset, params.entry, params.models, dict(files.items())
    )
    deltas = read_table(files.deltas, "delta_log_likelihood")
    gains, curves = surprisal_curves(study, deltas, **params.options)
    write_table(gains, "linearity", output.gains, params.options)
    write_table(curves, "surprisal_curves", output.curves, params.options)
