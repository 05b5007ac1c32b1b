"""Draw Figure 5 of MORCELA."""

import pandas as pd

from lingprob.figures.style import save_figure
from lingprob.papers.morcela.analysis import default_fits
from lingprob.papers.morcela.figures import frequency_slopes
from lingprob.tables import read_table
from lingprob.workflow import job

with job(snakemake):
    slopes = [read_table(path, "frequency_slopes") for path in snakemake.input.slopes]
    bins = [read_table(path, "frequency_bins") for path in snakemake.input.bins]
    figure = frequency_slopes(
        default_fits(read_table(snakemake.input.linking_functions, "linking_functions")),
        pd.concat(slopes, ignore_index=True),
        pd.concat(bins, ignore_index=True),
        snakemake.params.models,
    )
    save_figure(figure, snakemake.output.pdf, snakemake.output.png)
