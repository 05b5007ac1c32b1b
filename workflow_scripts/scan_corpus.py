"""Stream one file of a corpus through the index of the passages."""

from contextlib import nullcontext
from pathlib import Path

from lingprob.io.progress import Progress
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import load_index
from lingprob.overlap.texts import scan_file
from lingprob.training.preshuffled import passing_chunk
from lingprob.workflow import job

with job(snakemake):
    params, wildcards = snakemake.params, snakemake.wildcards
    path = Path(params.path) if params.path else None
    there = nullcontext(path)
    if params.chunk:
        there = passing_chunk(wildcards.corpus, params.chunk, path.parent)
    with (
        there as file,
        Progress(None, f"scanning {wildcards.corpus}/{wildcards.file}", "tokens") as progress,
    ):
        result = scan_file(
            load_index(snakemake.input.index),
            open_tokenizer(snakemake.input.tokenizer),
            params.entry,
            [file] if file else [],
            f"{wildcards.corpus}/{wildcards.file}",
            params.min_length,
            progress,
        )
        result.save(snakemake.output[0])
