"""Write the site's pages, the CSV of all verdicts, and the list of missing data."""

from pathlib import Path

import pandas as pd

from lingprob.io.files import write_text
from lingprob.io.tables import read_table, write_csv
from lingprob.site.models import model_page, rows_by_model, titled
from lingprob.site.pages import Made, site_pages
from lingprob.workflow import job

with job(snakemake):
    inputs, params, output = snakemake.input, snakemake.params, snakemake.output
    results = Path(output.index).parent
    cards = {Path(path).parent.name: read_table(path, "scorecard") for path in inputs.cards}
    rows = rows_by_model({name: inputs[name] for name in params.row_tables})
    made = Made(
        results=results,
        scale=params.scale,
        cards=cards,
        rows=titled(rows, params.models, params.titles),
        facts=params.facts,
        files=params.files,
        figures=params.figures,
        tables=params.tables,
        captions=params.captions,
        linked=params.linked,
    )
    for path, text in site_pages(made).items():
        write_text(text, results / path)
    for path, (model, told) in zip(output.models, params.shown.items(), strict=True):
        title, facts = told
        of_model = rows[rows["model"] == model].reset_index(drop=True)
        write_text(model_page(title, of_model, params.titles, facts, "../../"), path)
    write_csv(rows, output.rows)
    write_csv(pd.concat(cards.values(), ignore_index=True), output.scorecard)
    columns = ["name", "named_in", "remedy"]
    write_csv(pd.DataFrame(params.left_out, columns=columns), output.left_out)
