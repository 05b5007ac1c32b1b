"""Word surprisals from elsewhere, into the same table."""

from pathlib import Path

from lingprob.io.tables import read_table, with_texts, write_csv, write_table
from lingprob.reading.imported import import_word_surprisals
from lingprob.workflow import job

with job(snakemake):
    words = read_table(snakemake.input.words, "words")
    path, params = Path(snakemake.params.path), snakemake.params
    surprisals = import_word_surprisals(
        path, words, params.unit, snakemake.wildcards.texts, params.texts
    )
    provenance = {"model": snakemake.wildcards.model, "origin": f"imported from {path}"}
    write_table(surprisals, "surprisal", snakemake.output.table, provenance)
    write_csv(with_texts(surprisals, "surprisal", words), snakemake.output.csv)
