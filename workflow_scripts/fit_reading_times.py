"""What each model's surprisal adds to the regression of one data set."""

from lingprob.papers.leakage.reading.analysis import compare_regressions, reading_counts
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    dataset, params = snakemake.wildcards.dataset, snakemake.params
    times = read_table(snakemake.input.times, "reading_times")
    tables = [read_table(path, "surprisal") for path in snakemake.input.surprisals]
    deltas, gains = compare_regressions(
        dataset,
        params.entry,
        times,
        read_table(snakemake.input.words, "words"),
        [read_table(path, "word_counts") for path in snakemake.input.counts],
        dict(zip(params.models, tables, strict=True)),
        contexts=params.contexts,
        corrections=params.corrections,
        **params.options,
    )
    write_table(deltas, "delta_log_likelihood", snakemake.output.deltas, params.options)
    write_table(gains, "reading_gains", snakemake.output.gains)
    counts = reading_counts(dataset, params.entry, times, params.options["scale"])
    write_table(counts, "reading_counts", snakemake.output.counts)
