"""Fit the regressions of one data set on each model's surprisal."""

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
    tables = compare_regressions(
        study, contexts=params.contexts, corrections=params.corrections, **params.options
    )
    for name, table in tables.items():
        write_table(table, name, output[name], params.options)
    counts = reading_counts(study.dataset, study.entry, study.times, params.options["scale"])
    write_table(counts, "reading_counts", output.reading_counts)
