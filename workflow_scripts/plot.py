"""Draw a paper's figures, each into the files that are named after it."""

from lingprob.figures.labels import add_to_footer
from lingprob.figures.style import save_figures
from lingprob.papers.contract import Run, read_tables
from lingprob.papers.rooms import module_of
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = read_tables(params.paper, dict(snakemake.input.items()), params.parts)
    figures = module_of(params.paper, "plot").draw(tables, Run(**params.run))
    for figure in figures.values():
        add_to_footer(figure, params.left_out)
    save_figures(figures, snakemake.output)
