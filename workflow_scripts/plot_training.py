"""Draw the loss of training, and perplexity by model size before and after fine-tuning."""

from lingprob.figures.style import save_figure
from lingprob.papers.leakage.training.figures import loss_curves, perplexity_by_size, read_logs
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    perplexity = read_table(snakemake.input.perplexity, "perplexity")
    logs = read_logs(dict(zip(params.sizes, snakemake.input.logs, strict=True)))
    figures = [
        loss_curves(logs, params.note, params.scale),
        perplexity_by_size(perplexity, params.titles, params.note),
    ]
    for figure, pdf, png in zip(figures, output.pdf, output.png, strict=True):
        save_figure(figure, pdf, png)
