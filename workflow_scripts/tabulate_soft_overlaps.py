"""Keep each passage's longest soft overlap with a corpus, and sum them up by corpus."""

from lingprob.io.files import write_text
from lingprob.io.tables import read_table, write_csv, write_table
from lingprob.overlap.soft_tables import longest_of_files, summarise_soft_overlaps
from lingprob.site.page import table_as_html
from lingprob.workflow import job

with job(snakemake):
    options, output = snakemake.params.options, snakemake.output
    overlaps = longest_of_files([read_table(path, "soft_overlap") for path in snakemake.input])
    summary = summarise_soft_overlaps(overlaps)
    title = "Soft overlaps by corpus: {min_words} words or more, up to {gaps} gaps"
    write_text(table_as_html(summary, title.format(**options)), output.html)
    write_csv(summary, output.summary)
    write_csv(overlaps, output.csv)
    write_table(overlaps, "soft_overlap", output.parquet, options)
