"""Sum up a model's token log-probabilities over one shard of a corpus, by unigram frequency."""

from lingprob.io.tables import read_table, write_table
from lingprob.models.loading import load_prepared
from lingprob.scoring.frequency_moments import frequency_moments
from lingprob.workflow import job, work_settings

with job(snakemake):
    params, files, wildcards = snakemake.params, snakemake.input, snakemake.wildcards
    how = work_settings(snakemake, "device_map")
    lm, provenance = load_prepared(files.model, params.entry, params.device, params.dtype, **how)
    unigrams = read_table(files.unigrams, "unigrams")
    shard = int(wildcards.shard), int(wildcards.shards)
    binned, documents = frequency_moments(lm, unigrams, params.regressed, *shard)
    write_table(binned, "frequency_moments", snakemake.output.moments, provenance)
    write_table(documents, "frequency_documents", snakemake.output.documents, provenance)
