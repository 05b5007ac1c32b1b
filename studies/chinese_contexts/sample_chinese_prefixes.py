"""Draw the prefixes before the pairs of a Chinese data set."""

from lingprob.context.prefixes import tokenizer_of
from lingprob.io.tables import read_table, table_writer
from lingprob.workflow import job
from studies.chinese_contexts.analysis import chinese_prefixes

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    pieces = chinese_prefixes(
        snakemake.wildcards.dataset,
        read_table(files.stimuli, "stimuli"),
        read_table(files.other, "stimuli"),
        tokenizer_of(files.tokenizer),
        drawn=params.drawn,
        seed=params.seed,
    )
    with table_writer("context_prefixes", snakemake.output[0], {"seed": params.seed}) as write:
        for prefixes in pieces:
            write(prefixes)
