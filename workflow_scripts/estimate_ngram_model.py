"""Estimate an n-gram model that is scored like any other."""

from functools import partial
from pathlib import Path

from lingprob.io.corpora import iter_documents
from lingprob.io.files import dataset_paths
from lingprob.models.folders import write_manifest
from lingprob.models.tokenizer import open_tokenizer
from lingprob.ngrams.estimate import estimate_model
from lingprob.workflow import job

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    manifest = Path(snakemake.output[0])
    corpus = params.corpus
    tokenizer = open_tokenizer(files.tokenizer) if files.tokenizer else None
    estimate_model(
        partial(iter_documents, corpus["parser"], dataset_paths(params.entry["corpus"], corpus)),
        params.entry["order"],
        manifest.parent,
        tokenizer=tokenizer,
        least_count=params.entry["least_count"],
    )
    origin = f"n-grams of {params.entry['corpus']}, code {params.code}"
    write_manifest(snakemake.wildcards.model, "ngram", origin, manifest.parent, manifest)
