"""Merge the shards of a corpus or of generated text to unigram log-probabilities."""

from lingprob.io.tables import read_metadata, read_table, write_table
from lingprob.unigrams.estimate import merge_sums, smoothed_logprobs
from lingprob.workflow import job

with job(snakemake):
    smoothing = snakemake.params.smoothing
    shards = [read_metadata(path) for path in snakemake.input]
    sums = merge_sums(read_table(path, "unigram_sums") for path in snakemake.input)
    total = sum(int(shard["total"]) for shard in shards)
    unigrams = smoothed_logprobs(sums, smoothing=smoothing, total=total)
    provenance = {"estimator": shards[0]["estimator"], "total": total, "smoothing": smoothing}
    write_table(unigrams, "unigrams", snakemake.output[0], provenance)
