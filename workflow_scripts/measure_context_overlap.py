"""Measure how alike suites are, and prefixes and their targets."""

from lingprob.context.prefixes import tokenizer_of
from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.papers.context.overlaps import COLUMNS, KINDS, overlaps
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    between, of_prefixes = overlaps(
        read_table(files.stimuli, "stimuli"),
        read_table(files.prefixes, "context_prefixes", COLUMNS, {"kind": KINDS}),
        tokenizer_of(files.tokenizer),
        dataset=params.dataset,
        sentences=params.overlap_sentences,
        seed=params.seed,
        scale=params.scale,
    )
    origin = {"seed": params.seed}
    write_csv(between, output.csv)
    write_table(of_prefixes, "context_prefix_overlap", output.prefixes, origin)
    write_table(between, "context_overlap", output.parquet, origin)
