"""Fit MORCELA with unigrams of fewer samples, and extrapolate to infinitely many."""

from lingprob.papers.morcela.rated import rating_source
from lingprob.papers.morcela.sample_sizes import vary_samples
from lingprob.tables import read_metadata, read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, wildcards, shards = snakemake.params, snakemake.wildcards, snakemake.input.shards
    stimuli = read_table(snakemake.input.stimuli, "stimuli")
    table = vary_samples(
        stimuli,
        read_table(snakemake.input.scores, "scores"),
        params.policy,
        [read_table(path, "unigram_sums") for path in shards],
        [int(read_metadata(path)["total"]) for path in shards],
    ).assign(
        model=wildcards.model,
        dataset=wildcards.dataset,
        rating_source=rating_source(stimuli),
        bos=params.bos,
        unigrams=wildcards.source,
        scale=params.scale,
    )
    write_table(table, "sample_sizes", snakemake.output[0], dict(wildcards))
