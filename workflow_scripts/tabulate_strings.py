"""Write the analyses of all models as CSV, and what is short enough as pages of the report."""

from pathlib import Path

from lingprob.io.tables import read_as_one
from lingprob.papers.string_probability.tables import page, paradigm_accuracies, read_accuracies
from lingprob.site.page import write_pages
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = {name: read_as_one(snakemake.input[name], f"string_{name}") for name in params.tables}
    published = [
        read_accuracies(parser, Path(path).parent)
        for parser, path in zip(params.parsers, snakemake.input.published, strict=True)
    ]
    tables["paradigms"] = paradigm_accuracies(
        tables["scores"], tables["correlations"], published, params.models
    )
    write_pages(tables, {}, snakemake.output.csv)
    pages = {name: page(name, tables[name]) for name in params.pages}
    write_pages(pages, params.pages, snakemake.output.html)
