"""Write the site's pages and what they share."""

from pathlib import Path

from lingprob.files import write_text
from lingprob.site.pages import Made, shared_files, site_pages
from lingprob.site.points import read_points
from lingprob.site.rows import every_row, titled
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    params, index = snakemake.params, Path(snakemake.output.index)
    given = {
        name: [paths] if isinstance(paths, str) else list(paths)
        for name, paths in snakemake.input.items()
    }
    tables = {name: given[name] for name in params.row_tables}
    rows = every_row(tables, given.get("published_fits", []), params.published)
    points = read_points(given, params.pairs)
    made = Made(
        results=index.parent,
        scale=params.scale,
        cards={Path(path).parent.name: read_table(path, "scorecard") for path in given["cards"]},
        rows=titled(rows, params.models, params.titles),
        points={name: titled(table, params.models, params.titles)
                for name, table in points.items()},
        facts=params.facts,
        made_by=params.made_by,
        figures=params.figures,
        tables=params.tables,
        captions=params.captions,
    )  # fmt: skip
    for path, text in {**site_pages(made), **shared_files()}.items():
        write_text(text, index.parent / path)
