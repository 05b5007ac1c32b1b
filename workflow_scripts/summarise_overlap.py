"""Put the overlaps with all corpora in one table, and sum them up by corpus."""

from lingprob.io.files import write_text
from lingprob.io.tables import read_as_one, write_csv, write_table
from lingprob.papers.leakage.overlap.analysis import passage_lengths, summarise_overlaps
from lingprob.site.page import table_as_html
from lingprob.workflow import job

with job(snakemake):
    overlaps = read_as_one(snakemake.input, "overlap")
    summary = summarise_overlaps(overlaps)
    write_csv(summary, snakemake.output.csv)
    write_csv(passage_lengths(overlaps), snakemake.output.lengths)
    title, why = "Longest overlaps by corpus", snakemake.params.no_chance_level
    title += f" (ours without a chance level: {why})" if why else ""
    write_text(table_as_html(summary, title), snakemake.output.html)
    write_table(overlaps, "overlap", snakemake.output.parquet)
