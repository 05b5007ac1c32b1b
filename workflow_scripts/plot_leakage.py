"""Draw and tabulate ΔLogLik without the words of ever shorter matches."""

import pandas as pd

from lingprob.figures.style import save_figure
from lingprob.papers.leakage.reading.leaked_words_figure import deltas_by_threshold
from lingprob.tables import read_table, write_csv
from lingprob.workflow import job

with job(snakemake):
    tables = [read_table(path, "leakage_adjusted") for path in snakemake.input]
    adjusted = pd.concat(tables, ignore_index=True)
    write_csv(adjusted, snakemake.output.csv)
    figure = deltas_by_threshold(adjusted, snakemake.params.models, snakemake.params.titles)
    save_figure(figure, snakemake.output.pdf, snakemake.output.png)
