"""Look for the sentences of audited pairs in a corpus."""

from pathlib import Path

from lingprob.audit.leakage import find_sentences
from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = [read_table(path, "stimuli") for path in snakemake.input.stimuli]
    texts = {
        name: table[table["pair_id"].notna()].set_index("item_id")["text"]
        for name, table in zip(params.datasets, tables, strict=True)
    }
    found = find_sentences(
        texts,
        snakemake.wildcards.corpus,
        params.entry,
        [Path(path) if path else None for path in params.files],
        open_tokenizer(snakemake.input.tokenizer),
    )
    write_table(found, "audit_leakage", snakemake.output[0])
