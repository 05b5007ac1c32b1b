"""Draw ΔLogLik without leaked words, and put all data sets in one table."""

import pandas as pd

from lingprob.figures.palette import describe_models
from lingprob.figures.style import save_figures
from lingprob.io.tables import write_csv
from lingprob.workflow import job
from studies.leaked_words.figures import leakage

with job(snakemake):
    output, params = snakemake.output, snakemake.params
    deltas = pd.concat(map(pd.read_csv, snakemake.input), ignore_index=True)
    write_csv(deltas, output.deltas)
    figure = leakage(deltas, describe_models(params.models), params.titles)
    save_figures({"leakage": figure}, [output.pdf, output.png])
