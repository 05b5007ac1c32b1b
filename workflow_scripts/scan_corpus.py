"""Stream one file of a corpus through the index of the passages."""

from contextlib import nullcontext
from pathlib import Path

from lingprob.io.progress import Progress
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import PassageIndex, load_arrays, save_arrays
from lingprob.overlap.corpora import CorpusFile
from lingprob.training.preshuffled import passing_chunk
from lingprob.workflow import job

with job(snakemake):
    params, wildcards = snakemake.params, snakemake.wildcards
    path, name = Path(params.path) if params.path else None, f"{wildcards.corpus}/{wildcards.file}"
    there = nullcontext(path)
    if params.chunk:
        there = passing_chunk(wildcards.corpus, params.chunk, path.parent)
    with there as file, Progress(None, f"scanning {name}", "tokens") as progress:
        matches = CorpusFile(name, params.entry, [file] if file else []).find_matches(
            load_arrays(PassageIndex, snakemake.input.index),
            open_tokenizer(snakemake.input.tokenizer),
            params.min_length,
            progress,
        )
        save_arrays(matches, snakemake.output[0])
