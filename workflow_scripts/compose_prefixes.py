"""Compose prefixes by dose and place of what is unacceptable, and their controls."""

from lingprob.context.compositions import Sizes, composed_prefixes
from lingprob.context.prefixes import tokenizer_of
from lingprob.context.sentences import unrelated_sentences
from lingprob.corpora import iter_documents
from lingprob.files import dataset_paths
from lingprob.tables import read_table, table_writer
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    files = dataset_paths(params.control, params.control_entry)
    pieces = composed_prefixes(
        snakemake.wildcards.dataset,
        read_table(snakemake.input.stimuli, "stimuli"),
        unrelated_sentences(iter_documents(params.control_entry["parser"], files)),
        tokenizer_of(snakemake.input.tokenizer),
        suites=params.entry.get("suites", []),
        sizes=Sizes(**params.sizes),
        language=params.entry.get("language", "en"),
        seed=params.seed,
        **params.drawn,
    )
    with table_writer("context_prefixes", snakemake.output[0], {"seed": params.seed}) as write:
        for prefixes in pieces:
            write(prefixes)
