"""Look for the sentences of audited pairs in a corpus."""

from pathlib import Path

from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.corpora import corpus_of
from lingprob.overlap.search import find_sentences
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = [read_table(path, "stimuli") for path in snakemake.input.stimuli]
    texts = {
        name: table[table["pair_id"].notna()].set_index("item_id")["text"]
        for name, table in zip(params.datasets, tables, strict=True)
    }
    paths = [Path(path) for path in params.files if path]
    corpus = corpus_of(snakemake.wildcards.corpus, params.entry, paths)
    found = find_sentences(texts, [corpus], open_tokenizer(snakemake.input.tokenizer))
    write_table(found, "audit_leakage", snakemake.output[0])
