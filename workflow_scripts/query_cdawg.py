"""Write a text's longest overlaps with a corpus by the corpus's compacted DAWG."""

from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.cdawg import load_cdawg
from lingprob.overlap.texts import index_texts
from lingprob.papers.leakage.overlap.analysis import overlap_table
from lingprob.reading.texts import passage_texts
from lingprob.workflow import job

with job(snakemake):
    wildcards = snakemake.wildcards
    tokenizer = open_tokenizer(snakemake.input.tokenizer)
    texts = passage_texts(read_table(snakemake.input.words, "words"))
    index, passages = index_texts({wildcards.dataset: texts}, tokenizer)
    graph = load_cdawg(snakemake.input.graph)
    matches = graph.longest_matches(index.tokens, index.offsets, tokenizer_hash=tokenizer.sha256)
    overlaps = overlap_table(
        index, passages, matches, tokenizer.decode, wildcards.corpus, snakemake.params.scale
    )
    write_table(overlaps, "overlap", snakemake.output[0], {"method": "cdawg"})
