"""Count the tokens of each prefix up to each sentence's end, under one tokenizer."""

from lingprob.context.prefixes import count_tokens, tokenizer_of
from lingprob.tables import iterate_table, table_writer
from lingprob.workflow import job

PREFIXES_AT_ONCE = 5000
READ = ["prefix_id", "text", "char_ends"]

with job(snakemake):
    files, tokenizer = snakemake.input, tokenizer_of(snakemake.input.tokenizer)
    with table_writer("context_prefix_tokens", snakemake.output[0]) as write:
        pieces = iterate_table(
            files.prefixes, "context_prefixes", "prefix_id", PREFIXES_AT_ONCE, READ
        )
        for prefixes in pieces:
            write(count_tokens(prefixes, {snakemake.wildcards.tokenizer: tokenizer}))
