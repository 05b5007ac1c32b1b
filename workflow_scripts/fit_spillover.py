"""What surprisals of previous words add to the regressions of one data set."""

from lingprob.papers.leakage.reading.analysis import read_study
from lingprob.papers.leakage.reading.spillover import spillover
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, files, output = snakemake.params, snakemake.input, snakemake.output
    study = read_study(
        snakemake.wildcards.dataset, params.entry, params.models, dict(files.items())
    )
    deltas = read_table(files.deltas, "delta_log_likelihood")
    gains, slopes = spillover(study, deltas, **params.options)
    write_table(gains, "spillover", output.gains, params.options)
    write_table(slopes, "spillover_slopes", output.slopes, params.options)
