"""Draw Figures 2 to 17 of the context paper, those whose data sets the scale has."""

from lingprob.figures.style import save_figure
from lingprob.papers.context.figures import Shown, draw
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    tables = {
        name: read_table(path, f"context_{name}")
        for name, path in zip(params.tables, files.tables, strict=True)
    }
    points = read_table(files.points, "context_points")
    shown = Shown(params.models, params.titles, params.control, params.primary)
    for name, pdf, png in zip(params.figures, output.pdf, output.png, strict=True):
        save_figure(draw(name, tables, points, shown), pdf, png)
