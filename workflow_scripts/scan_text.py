"""Stream one file of text through the index of the passages, and past their folded words."""

from pathlib import Path

from lingprob.io.corpora import iter_documents
from lingprob.io.progress import Progress
from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import load_index
from lingprob.overlap.soft_tables import soft_overlaps
from lingprob.overlap.texts import scan_file
from lingprob.workflow import job

with job(snakemake):
    params, inputs, corpus = snakemake.params, snakemake.input, snakemake.wildcards.corpus
    files = [Path(params.path)] if params.path else []
    name = f"{corpus}/{snakemake.wildcards.file}"
    index, tokenizer = load_index(inputs.index), open_tokenizer(inputs.tokenizer)
    with Progress(None, f"scanning {name}", "tokens") as progress:
        counts = scan_file(index, tokenizer, params.entry, files, name, params.min_length, progress)
    words = [read_table(path, "words") for path in inputs.words]
    with Progress(None, f"searching {name}", "words") as progress:
        soft = soft_overlaps(
            dict(zip(params.texts, words, strict=True)),
            iter_documents(params.entry["parser"], files),
            corpus,
            **params.options,
            progress=progress,
        )
    counts.save(snakemake.output.counts)
    write_table(soft, "soft_overlap", snakemake.output.soft, params.options)
