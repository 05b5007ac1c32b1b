"""Write a model's profile as a page and as CSV."""

from datetime import date
from pathlib import Path

import lingprob
from lingprob.files import write_text
from lingprob.profiles.cost import cost_of
from lingprob.profiles.page import profile_page
from lingprob.profiles.rows import profile_rows, published_rows
from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    params, model = snakemake.params, snakemake.wildcards.model
    files = {
        name: [paths] if isinstance(paths, str) else list(paths)
        for name, paths in snakemake.input.items()
    }
    rows = profile_rows(model, files)
    names = params.names
    others = {names[name]: profile_rows(name, there) for name, there in params.beside.items()}
    published = published_rows(params.published)
    page = profile_page(
        params.entry,
        rows,
        {title: table for title, table in others.items() if len(table)},
        {names.get(name, name): table for name, table in published.items() if name != model},
        titles=params.titles,
        facts=params.facts,
        notes=params.notes,
        made=f"lingprob {lingprob.__version__}, {date.today()}",
        cost=cost_of(model, Path("logs")),
    )
    write_csv(rows.assign(model=model), snakemake.output.csv)
    write_text(page, snakemake.output.html)
