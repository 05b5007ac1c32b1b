"""Write the site's pages and what they share."""

from pathlib import Path

import pandas as pd

from lingprob.files import write_text
from lingprob.site.pages import Made, shared_files, site_pages
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    params, index = snakemake.params, Path(snakemake.output.index)
    made = Made(
        index.parent,
        params.scale,
        {Path(path).parent.name: read_table(path, "scorecard") for path in snakemake.input.cards},
        pd.DataFrame(columns=["paper"]),
        params.made_by,
        params.figures,
        params.tables,
        params.captions,
    )
    for path, text in {**site_pages(made), **shared_files()}.items():
        write_text(text, index.parent / path)
