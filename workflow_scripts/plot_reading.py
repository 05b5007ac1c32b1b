"""Draw Figure 2 and, where they are reproduced, the published fits over model size."""

from lingprob.figures.style import save_figure
from lingprob.papers.leakage.reading.figures import figure_2, inverse_scaling
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    figures = [
        figure_2(read_table(files.deltas, "delta_log_likelihood"), params.models, params.titles)
    ]
    if files.published:
        fits = read_table(files.published, "published_delta")
        figures.append(inverse_scaling(fits, params.models))
    for figure, pdf, png in zip(figures, snakemake.output.pdf, snakemake.output.png, strict=True):
        save_figure(figure, pdf, png)
