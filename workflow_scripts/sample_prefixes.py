"""Draw targets of a data set and the prefixes before them."""

from lingprob.context.prefixes import control_sentences, tokenizer_of
from lingprob.context.sampling import Source, sample_contexts
from lingprob.io.tables import read_table, table_writer
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    source = Source(
        snakemake.wildcards.dataset,
        read_table(files.stimuli, "stimuli"),
        control_sentences(params.control, params.control_entry),
        tokenizer_of(files.tokenizer),
        params.entry.get("suites", []),
    )
    pieces = sample_contexts(source, params.pairs_per_suite, params.settings, params.seed)
    with table_writer("context_prefixes", snakemake.output[0], {"seed": params.seed}) as write:
        for prefixes in pieces:
            write(prefixes)
