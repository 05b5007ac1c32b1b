"""Build the compacted DAWG of a corpus."""

from lingprob.io.files import dataset_paths
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.cdawg import build_cdawg
from lingprob.overlap.texts import corpus_blocks
from lingprob.workflow import job

with job(snakemake):
    corpus, entry = snakemake.wildcards.corpus, snakemake.params.entry
    tokenizer = open_tokenizer(snakemake.input.tokenizer)
    blocks, separator = corpus_blocks(tokenizer, entry, dataset_paths(corpus, entry))
    graph = build_cdawg(
        blocks,
        tokenizer_hash=tokenizer.sha256,
        vocabulary_size=tokenizer.vocabulary_size,
        separator=separator,
    )
    graph.save(snakemake.output[0])
