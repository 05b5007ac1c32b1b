"""Put the overlaps with all corpora in one table, and sum them up by corpus; soft ones likewise."""

from lingprob.io.files import write_text
from lingprob.io.tables import read_as_one, read_table, write_csv, write_table
from lingprob.overlap.soft_tables import longest_of_files, summarise_soft_overlaps
from lingprob.papers.leakage.overlap.analysis import (
    passage_lengths,
    summarise_overlaps,
    with_published,
)
from lingprob.site.page import table_as_html
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    ours = read_as_one(files.overlaps, "overlap")
    overlaps = with_published(ours, params.published, params.scale)
    summary = summarise_overlaps(overlaps)
    write_csv(summary, output.csv)
    write_csv(passage_lengths(overlaps), output.lengths)
    title, why = "Longest overlaps by corpus", params.no_chance_level
    title += f" (ours without a chance level: {why})" if why else ""
    write_text(table_as_html(summary, title), output.html)
    write_table(overlaps, "overlap", output.parquet)
    if files.soft:
        soft = longest_of_files([read_table(path, "soft_overlap") for path in files.soft])
        summary = summarise_soft_overlaps(soft)
        title = "Soft overlaps by corpus: {min_words} words or more, up to {gaps} gaps"
        write_text(table_as_html(summary, title.format(**params.soft)), output.soft_html)
        write_csv(summary, output.soft_summary)
        write_csv(soft, output.soft_csv)
        write_table(soft, "soft_overlap", output.soft, params.soft)
