"""Write Tables 2, 3 and 4 of MORCELA, ours beside the published values."""

from lingprob.files import write_text
from lingprob.papers.morcela.analysis import paper_tables
from lingprob.report import table_as_html
from lingprob.tables import read_table, write_csv
from lingprob.workflow import job

with job(snakemake):
    tables = paper_tables(
        read_table(snakemake.input.linking_functions, "linking_functions"),
        snakemake.params.published,
        snakemake.params.models,
    )
    for (number, table), csv, html in zip(
        tables.items(), snakemake.output.csv, snakemake.output.html, strict=True
    ):
        write_csv(table, csv)
        write_text(table_as_html(table, f"MORCELA, Table {number}"), html)
