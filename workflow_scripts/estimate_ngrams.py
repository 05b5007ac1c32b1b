"""Estimate an n-gram model of white-space words over a corpus."""

from pathlib import Path

from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths
from lingprob.ngrams.words import estimate_word_model
from lingprob.workflow import job

with job(snakemake):
    corpus, entry = snakemake.wildcards.corpus, snakemake.params.entry
    estimate_word_model(
        iter_documents(entry["parser"], dataset_paths(corpus, entry)),
        snakemake.params.order,
        snakemake.resources.mem_mb // 2,
        Path(snakemake.output[0]),
    )
