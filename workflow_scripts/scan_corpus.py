"""Stream one file of a corpus through the index of the passages."""

from pathlib import Path

from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import load_index
from lingprob.overlap.texts import scan_file
from lingprob.progress import Progress
from lingprob.workflow import job

with job(snakemake):
    params, wildcards = snakemake.params, snakemake.wildcards
    with Progress(None, f"scanning {wildcards.corpus}/{wildcards.file}", "tokens") as progress:
        result = scan_file(
            load_index(snakemake.input.index),
            open_tokenizer(snakemake.input.tokenizer),
            params.entry,
            [Path(params.path)] if params.path else [],
            f"{wildcards.corpus}/{wildcards.file}",
            params.min_length,
            progress,
        )
    result.save(snakemake.output[0])
