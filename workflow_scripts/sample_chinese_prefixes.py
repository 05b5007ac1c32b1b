"""Draw targets of a Chinese data set and the prefixes before them."""

from lingprob.context.chinese import control_sentences, sample_chinese_contexts
from lingprob.context.prefixes import tokenizer_of
from lingprob.tables import read_table, table_writer
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    pieces = sample_chinese_contexts(
        snakemake.wildcards.dataset,
        read_table(files.stimuli, "stimuli"),
        control_sentences(params.control, params.control_entry, files.control),
        tokenizer_of(files.tokenizer),
        suites=[],
        pairs_per_suite=params.pairs_per_suite,
        settings=params.settings,
        seed=params.seed,
    )
    with table_writer("context_prefixes", snakemake.output[0], {"seed": params.seed}) as write:
        for prefixes in pieces:
            write(prefixes)
