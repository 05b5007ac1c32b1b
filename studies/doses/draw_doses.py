"""Draw the effect of copies of the passages in training, and join the tables of all data sets."""

import pandas as pd

from lingprob.figures.palette import describe_models
from lingprob.figures.style import save_figures
from lingprob.io.tables import write_csv
from lingprob.workflow import job
from studies.doses.figures import doses

with job(snakemake):
    files, output, params = snakemake.input, snakemake.output, snakemake.params
    deltas, slopes = (pd.concat(map(pd.read_csv, paths)) for paths in (files.deltas, files.slopes))
    write_csv(deltas, output.deltas)
    write_csv(slopes, output.slopes)
    looks = describe_models(params.models)
    models = {size: looks[name] for size, name in params.sizes.items()}
    figure = doses(deltas, slopes, models, params.titles)
    save_figures({"doses": figure}, [output.pdf, output.png])
