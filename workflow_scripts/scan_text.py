"""Search one file of text for exact and for soft overlaps with the passages."""

from pathlib import Path

from lingprob.io.progress import Progress
from lingprob.io.tables import read_table, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import PassageIndex, load_arrays, save_arrays
from lingprob.overlap.corpora import Corpus, CorpusFile
from lingprob.overlap.soft import soft_overlaps
from lingprob.workflow import job

with job(snakemake):
    params, inputs, corpus = snakemake.params, snakemake.input, snakemake.wildcards.corpus
    name = f"{corpus}/{snakemake.wildcards.file}"
    file = CorpusFile(name, params.entry, [Path(params.path)] if params.path else [])
    index, tokenizer = load_arrays(PassageIndex, inputs.index), open_tokenizer(inputs.tokenizer)
    with Progress(None, f"scanning {name}", "tokens") as progress:
        matches = file.find_matches(index, tokenizer, params.min_length, progress)
    words = [read_table(path, "words") for path in inputs.words]
    with Progress(None, f"searching {name}", "words") as progress:
        soft = soft_overlaps(
            dict(zip(params.texts, words, strict=True)),
            Corpus(name, [file]).documents(),
            corpus,
            **params.options,
            progress=progress,
        )
    save_arrays(matches, snakemake.output.counts)
    write_table(soft, "soft_overlap", snakemake.output.soft, params.options)
