"""Write Tables 1 and 2 of the context paper, ours beside the published values."""

from lingprob.files import write_text
from lingprob.papers.context.analysis import paper_tables
from lingprob.report import table_as_html
from lingprob.tables import read_table, write_csv
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    accuracy = read_table(snakemake.input.accuracy, "context_accuracy")
    tables = paper_tables(accuracy, params.primary, params.published, params.models)
    for (number, table), csv, html in zip(
        tables.items(), snakemake.output.csv, snakemake.output.html, strict=True
    ):
        write_csv(table, csv)
        write_text(table_as_html(table, f"Context, Table {number}"), html)
