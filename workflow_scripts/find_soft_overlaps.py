"""Stream one file of a corpus past the folded words of all passages."""

from pathlib import Path

from lingprob.io.corpora import iter_documents
from lingprob.io.progress import Progress
from lingprob.io.tables import read_table, write_table
from lingprob.overlap.soft_tables import soft_overlaps
from lingprob.workflow import job

with job(snakemake):
    params, corpus = snakemake.params, snakemake.wildcards.corpus
    words = [read_table(path, "words") for path in snakemake.input.words]
    with Progress(None, f"searching {corpus}/{snakemake.wildcards.file}", "words") as progress:
        table = soft_overlaps(
            dict(zip(params.texts, words, strict=True)),
            iter_documents(params.entry["parser"], [Path(params.path)] if params.path else []),
            corpus,
            **params.options,
            progress=progress,
        )
    write_table(table, "soft_overlap", snakemake.output[0], params.options)
