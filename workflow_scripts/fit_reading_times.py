"""What each model's surprisal adds to the regression of one data set."""

from lingprob.io.tables import write_table
from lingprob.papers.leakage.regressions import (
    compare_regressions,
    read_study,
    reading_counts,
)
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    files = dict(snakemake.input.items())
    study = read_study(snakemake.wildcards.dataset, params.entry, params.models, files)
    deltas, gains = compare_regressions(
        study, contexts=params.contexts, corrections=params.corrections, **params.options
    )
    write_table(deltas, "delta_log_likelihood", output.deltas, params.options)
    write_table(gains, "reading_gains", output.gains)
    counts = reading_counts(study.dataset, study.entry, study.times, params.options["scale"])
    write_table(counts, "reading_counts", output.counts)
