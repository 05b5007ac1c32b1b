"""Save a corpus as compacted DAWGs."""

from pathlib import Path

from lingprob.io.files import dataset_paths
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.corpora import corpus_of, save_corpus
from lingprob.workflow import job

with job(snakemake):
    name, params = snakemake.wildcards.corpus, snakemake.params
    save_corpus(
        corpus_of(name, params.entry, dataset_paths(name, params.entry)),
        open_tokenizer(snakemake.input.tokenizer),
        params.tokenizer,
        Path(snakemake.output[0]),
    )
