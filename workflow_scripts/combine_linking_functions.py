"""Put the fits of all models in one table, as Parquet and as CSV."""

import pandas as pd

from lingprob.tables import read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    fits = [read_table(path, "linking_functions") for path in snakemake.input]
    table = pd.concat(fits, ignore_index=True)
    write_csv(table, snakemake.output.csv)
    params = snakemake.params
    origin = {"models": params.models, "datasets": params.datasets}
    write_table(table, "linking_functions", snakemake.output.parquet, origin)
