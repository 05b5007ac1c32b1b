"""Map a published table of unigrams to a tokenizer's vocabulary."""

from lingprob.io.files import dataset_paths
from lingprob.io.tables import write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.unigrams.estimate import smoothed_logprobs
from lingprob.unigrams.published import published_counts, published_logprobs
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tokenizer = open_tokenizer(snakemake.input.tokenizer)
    (path,) = dataset_paths(snakemake.wildcards.source, params.entry)
    if params.entry["parser"] == "published_counts":
        sums = published_counts(path, tokenizer.vocabulary_size)
        total = int(sums["sum"].sum())
        unigrams = smoothed_logprobs(sums, smoothing=params.smoothing, total=total)
        coverage = {"total": total, "smoothing": params.smoothing}
    else:
        unigrams, coverage = published_logprobs(
            path, tokenizer.tokenizer, tokenizer.vocabulary_size, normalise=params.normalise
        )
    provenance = {"estimator": "published", "normalised": params.normalise, **coverage}
    write_table(unigrams, "unigrams", snakemake.output[0], provenance)
