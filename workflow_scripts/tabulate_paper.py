"""Write the paper's own tables, ours beside the published values."""

from lingprob.papers.contract import Run, read_tables
from lingprob.papers.rooms import module_of
from lingprob.site.page import write_pages
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = read_tables(params.paper, dict(snakemake.input.items()), params.parts)
    pages = module_of(params.paper, "tabulate").tabulate(tables, Run(**params.run))
    write_pages(pages, params.titles, snakemake.output, params.left_out)
