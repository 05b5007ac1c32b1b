"""Count a corpus's tokens in one shard of its documents."""

from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths
from lingprob.io.progress import Progress
from lingprob.io.tables import write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.unigrams.counts import count_tokens
from lingprob.unigrams.estimate import sums_table
from lingprob.workflow import job

with job(snakemake):
    wildcards, entry = snakemake.wildcards, snakemake.params.entry
    tokenizer = open_tokenizer(snakemake.input.tokenizer)
    documents = iter_documents(entry["parser"], dataset_paths(wildcards.corpus, entry))
    with Progress(None, f"counting {wildcards.corpus}", "tokens") as progress:
        counts = count_tokens(
            documents,
            tokenizer.tokenizer,
            tokenizer.vocabulary_size,
            shard=int(wildcards.shard),
            n_shards=int(wildcards.shards),
            progress=progress,
        )
    provenance = {"estimator": "counts", "total": counts.sum()}
    write_table(sums_table(counts), "unigram_sums", snakemake.output[0], provenance)
