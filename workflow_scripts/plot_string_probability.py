"""Draw the paper's figures, for all models of the scale."""

import pandas as pd

from lingprob.figures.style import save_figure
from lingprob.papers.string_probability.figures import draw_figures, toy_surprisals
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    tables = {
        name: pd.concat(
            [read_table(path, f"string_{name}") for path in snakemake.input[name]],
            ignore_index=True,
        )
        for name in ("scores", "correlations", "separation", "roc")
    }
    toy = toy_surprisals(
        read_table(snakemake.input.toy_stimuli, "stimuli"),
        params.toy_models,
        [read_table(path, "sentence_scores") for path in snakemake.input.toy],
    )
    figures = draw_figures(tables, toy, params.models, params.titles, params.pooled, params.scale)
    for name, pdf, png in zip(
        params.figures, snakemake.output.pdf, snakemake.output.png, strict=True
    ):
        save_figure(figures[name], pdf, png)
