"""Import word surprisals of one or more models and texts from a user's file."""

from pathlib import Path

from lingprob.io.tables import read_table, with_texts, write_csv, write_table
from lingprob.reading.imported import import_word_surprisals
from lingprob.workflow import job

with job(snakemake):
    output, imported = snakemake.output, snakemake.params.imported
    files = zip(imported, snakemake.input.words, output.tables, output.csv, strict=True)
    for about, words_file, table, csv in files:
        words, path = read_table(words_file, "words"), Path(about["path"])
        surprisals = import_word_surprisals(
            path, words, about["unit"], about["text"], about["texts_in_file"]
        )
        provenance = {"model": about["model"], "origin": f"imported from {path}"}
        write_table(surprisals, "surprisal", table, provenance)
        write_csv(with_texts(surprisals, "surprisal", words), csv)
