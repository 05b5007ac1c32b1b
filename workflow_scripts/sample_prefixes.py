"""Draw targets of a data set and the prefixes before them."""

from lingprob.context.names import SHARED
from lingprob.context.prefixes import tokenizer_of
from lingprob.context.sampling import sample_contexts
from lingprob.context.sentences import unrelated_sentences
from lingprob.corpora import iter_documents
from lingprob.files import dataset_paths
from lingprob.tables import read_table, table_writer
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    files = dataset_paths(params.control, params.control_entry)
    pieces = sample_contexts(
        snakemake.wildcards.dataset,
        read_table(snakemake.input.stimuli, "stimuli"),
        unrelated_sentences(iter_documents(params.control_entry["parser"], files)),
        tokenizer_of(snakemake.input.tokenizer),
        suites=params.entry.get("suites", []),
        pairs_per_suite=params.pairs_per_suite,
        settings=params.settings,
        seed=params.seed,
        perturbation=SHARED if snakemake.wildcards.stage == SHARED else None,
    )
    with table_writer("context_prefixes", snakemake.output[0], {"seed": params.seed}) as write:
        for prefixes in pieces:
            write(prefixes)
