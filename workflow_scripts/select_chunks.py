"""List the chunks that overlap minimally with the passages, and draw a sample of them."""

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import PassageIndex, load_arrays
from lingprob.overlap.matches import Matches
from lingprob.papers.leakage.overlaps import chunk_overlaps, select_chunks
from lingprob.workflow import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    matches = [load_arrays(Matches, path) for path in inputs.files]
    overlaps = chunk_overlaps(
        load_arrays(PassageIndex, inputs.index),
        read_table(inputs.passages, "overlap_passages"),
        dict(zip(map(tuple, params.chunks), matches, strict=True)),
        open_tokenizer(inputs.tokenizer).decode,
        params.scale,
    )
    chunks = select_chunks(
        overlaps,
        min_length=params.min_length,
        max_overlap=params.max_overlap,
        chunks_selected=params.chunks_selected,
        seed=params.seed,
    )
    write_csv(chunks, snakemake.output.csv)
    write_table(chunks, "overlap_chunks", snakemake.output.parquet)
