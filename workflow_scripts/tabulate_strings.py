"""Write the analyses of all models as CSV, and what is short enough as pages of the report."""

from pathlib import Path

import pandas as pd

from lingprob.files import write_text
from lingprob.papers.string_probability.paradigms import paradigm_accuracies, read_accuracies
from lingprob.papers.string_probability.summary import page
from lingprob.report import table_as_html
from lingprob.tables import read_table, write_csv
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = {
        name: pd.concat(
            [read_table(path, f"string_{name}") for path in snakemake.input[name]],
            ignore_index=True,
        )
        for name in params.tables
    }
    published = [
        read_accuracies(parser, Path(path).parent)
        for parser, path in zip(params.parsers, snakemake.input.published, strict=True)
    ]
    tables["paradigms"] = paradigm_accuracies(
        tables["scores"], tables["correlations"], published, params.models
    )
    del tables["scores"]
    for (_, table), csv in zip(tables.items(), snakemake.output.csv, strict=True):
        write_csv(table, csv)
    for (name, title), html in zip(params.pages.items(), snakemake.output.html, strict=True):
        write_text(table_as_html(page(name, tables[name]), title), html)
