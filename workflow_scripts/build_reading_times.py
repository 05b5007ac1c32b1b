"""Parse reading times, mark the exclusions, and divide the rest into partitions."""

from lingprob.io.files import dataset_paths
from lingprob.io.tables import read_table, write_table
from lingprob.reading.times import build_reading_times
from lingprob.workflow import job

with job(snakemake):
    corpus, params = snakemake.wildcards.dataset, snakemake.params
    times = build_reading_times(
        corpus,
        params.entry,
        read_table(snakemake.input.words, "words"),
        dataset_paths(corpus, params.entry),
        seed=params.seed,
    )
    provenance = {"dataset": corpus, "method": params.entry["method"]}
    write_table(times, "reading_times", snakemake.output[0], provenance)
