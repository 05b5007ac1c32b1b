"""Put the fits of all data sets in tables: ΔLogLik, Table 2's counts, Table 3, and the trends."""

from lingprob.files import write_text
from lingprob.papers.leakage.reading.analysis import table_2, table_3
from lingprob.papers.leakage.reading.size_trends import size_trends
from lingprob.site.page import table_as_html
from lingprob.tables import read_as_one, read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    deltas = read_as_one(files.deltas, "delta_log_likelihood")
    counts = read_as_one(files.counts, "reading_counts")
    published = read_table(files.published, "published_delta") if files.published else None
    gains = read_as_one(files.gains, "reading_gains")
    trends = size_trends(
        deltas, gains, published, params.models, draws=params.bootstrap, seed=params.seed
    )
    write_csv(deltas, output.csv)
    write_csv(trends, output.trends_csv)
    write_text(table_as_html(trends, "ΔLogLik and perplexity over model size"), output.trends)
    write_text(table_as_html(table_2(counts), "Reading times in each partition"), output.counts)
    write_text(table_as_html(table_3(deltas), "Formulas of the regressions"), output.formulas)
    write_table(counts, "reading_counts", output.counts_parquet)
    write_table(trends, "reading_trends", output.trends_parquet)
    write_table(deltas, "delta_log_likelihood", output.parquet)
