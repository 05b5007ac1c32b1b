"""Put the fits of all data sets in tables: ΔLogLik, Tables 2 and 3, trends and differences."""

from lingprob.io.files import write_text
from lingprob.io.tables import read_as_one, read_table, write_csv, write_table
from lingprob.papers.leakage.reading.analysis import table_2, table_3
from lingprob.papers.leakage.reading.trends import model_differences, size_trends
from lingprob.site.page import table_as_html
from lingprob.workflow import job

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    deltas = read_as_one(files.deltas, "delta_log_likelihood")
    counts = read_as_one(files.counts, "reading_counts")
    published = read_table(files.published, "published_delta") if files.published else None
    gains = read_as_one(files.gains, "reading_gains")
    draws = {"draws": params.bootstrap, "seed": params.seed}
    trends = size_trends(deltas, gains, published, params.models, **draws)
    write_csv(deltas, output.csv)
    write_csv(trends, output.trends_csv)
    write_text(table_as_html(trends, "ΔLogLik and perplexity over model size"), output.trends)
    write_text(table_as_html(table_2(counts), "Reading times in each partition"), output.counts)
    write_text(table_as_html(table_3(deltas), "Formulas of the regressions"), output.formulas)
    write_table(counts, "reading_counts", output.counts_parquet)
    write_table(trends, "reading_trends", output.trends_parquet)
    write_table(deltas, "delta_log_likelihood", output.parquet)
    for path, csv in zip(output.differences_parquet, output.differences, strict=True):
        differences = model_differences(gains, deltas, **draws)
        write_csv(differences, csv)
        write_table(differences, "model_differences", path)
