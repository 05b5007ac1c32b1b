"""Put the fits of all data sets in tables: ΔLogLik, Table 2's counts, Table 3, and the trends."""

import pandas as pd

from lingprob.files import write_text
from lingprob.papers.leakage.reading.analysis import all_trends, table_2, table_3
from lingprob.report import table_as_html
from lingprob.tables import read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    files, output = snakemake.input, snakemake.output
    deltas = pd.concat(
        [read_table(path, "delta_log_likelihood") for path in files.deltas], ignore_index=True
    )
    counts = pd.concat(
        [read_table(path, "reading_counts") for path in files.counts], ignore_index=True
    )
    published = read_table(files.published, "published_delta") if files.published else None
    trends = all_trends(deltas, published, snakemake.params.models)
    write_csv(deltas, output.csv)
    write_csv(trends, output.trends_csv)
    write_text(table_as_html(trends, "ΔLogLik over model size and perplexity"), output.trends)
    write_text(table_as_html(table_2(counts), "Reading times in each partition"), output.counts)
    write_text(table_as_html(table_3(deltas), "Formulas of the regressions"), output.formulas)
    write_table(counts, "reading_counts", output.counts_parquet)
    write_table(deltas, "delta_log_likelihood", output.parquet)
