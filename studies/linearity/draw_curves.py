"""Draw the curves of all data sets, and write their gains to one table."""

import pandas as pd

from lingprob.figures.palette import describe_models
from lingprob.figures.style import save_figures
from lingprob.io.tables import write_csv
from lingprob.workflow import job
from studies.linearity.figures import curves

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    gains, points = (pd.concat(map(pd.read_csv, paths)) for paths in (files.gains, files.curves))
    write_csv(gains, output.gains)
    figure = curves(points, gains, describe_models(params.models), params.titles)
    save_figures({"curves": figure}, [output.pdf, output.png])
