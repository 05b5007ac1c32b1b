"""List the chunks that overlap minimally with the passages, and draw a sample of them."""

from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.models.tokenizer import open_tokenizer
from lingprob.overlap.automaton import load_index
from lingprob.overlap.streaming import load_result
from lingprob.papers.leakage.overlaps import leakage_free_chunks
from lingprob.workflow import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    results = [load_result(path) for path in inputs.files]
    chunks = leakage_free_chunks(
        load_index(inputs.index),
        read_table(inputs.passages, "overlap_passages"),
        dict(zip(map(tuple, params.chunks), results, strict=True)),
        open_tokenizer(inputs.tokenizer).decode,
        params.scale,
        min_length=params.min_length,
        max_overlap=params.max_overlap,
        chunks_selected=params.chunks_selected,
        seed=params.seed,
    )
    write_csv(chunks, snakemake.output.csv)
    write_table(chunks, "overlap_chunks", snakemake.output.parquet)
