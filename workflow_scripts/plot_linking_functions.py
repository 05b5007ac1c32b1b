"""Draw Figures 2, 3, 4 and 6 of MORCELA, and what each convention does."""

from lingprob.figures.style import save_figure
from lingprob.papers.morcela.analysis import default_fits, published_fits
from lingprob.papers.morcela.figures import draw_fits
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    fits = read_table(snakemake.input.linking_functions, "linking_functions")
    agreement = read_table(snakemake.input.intergroup_correlation, "intergroup_correlation")
    published = published_fits(params.published, fits)
    figures = draw_fits(fits, default_fits(fits), published, agreement, params.models)
    for name, pdf, png in zip(params.figures, output.pdf, output.png, strict=True):
        save_figure(figures[name], pdf, png)
