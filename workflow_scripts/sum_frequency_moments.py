"""Sum up a model's token log-probabilities over one shard of a corpus, by unigram frequency."""

from functools import partial

from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths
from lingprob.io.progress import Progress
from lingprob.io.tables import read_table, write_table
from lingprob.models.prepared import load_prepared
from lingprob.scoring.frequency_moments import moments_by_start_token
from lingprob.workflow import job, means

with job(snakemake):
    params, wildcards = snakemake.params, snakemake.wildcards
    lm, provenance = load_prepared(
        snakemake.input.model,
        params.model_entry,
        params.device,
        params.dtype,
        **means(snakemake, "device_map"),
    )
    unigrams = read_table(snakemake.input.unigrams, "unigrams").sort_values("token_id")
    paths = dataset_paths(params.corpus, params.entry)
    tokens = len(params.start_tokens) * params.tokens // int(wildcards.shards)
    with Progress(tokens, f"{wildcards.model} on {params.corpus}", "tokens") as progress:
        binned, documents = moments_by_start_token(
            lm,
            partial(iter_documents, params.entry["parser"], paths),
            unigrams["logprob"].to_numpy(),
            params.start_tokens,
            max_tokens=params.tokens,
            max_document_tokens=params.document_tokens,
            shard=int(wildcards.shard),
            shards=int(wildcards.shards),
            progress=progress,
        )
    write_table(binned, "frequency_moments", snakemake.output.moments, provenance)
    write_table(documents, "frequency_documents", snakemake.output.documents, provenance)
