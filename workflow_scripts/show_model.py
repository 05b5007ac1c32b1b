"""Write the results of one model in all papers as a page and as CSV."""

from lingprob.io.files import write_text
from lingprob.io.tables import write_csv
from lingprob.site.models import model_page, rows_by_model
from lingprob.workflow import job

with job(snakemake):
    params, model = snakemake.params, snakemake.wildcards.model
    rows = rows_by_model(dict(snakemake.input.items()))
    rows = rows[rows["model"] == model]
    write_csv(rows, snakemake.output.csv)
    page = model_page(params.title, rows, params.titles, params.facts)
    write_text(page, snakemake.output.html)
