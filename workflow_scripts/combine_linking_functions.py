"""Put the fits of all models in one table, as Parquet and as CSV."""

from lingprob.tables import read_as_one, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    table = read_as_one(snakemake.input, "linking_functions")
    write_csv(table, snakemake.output.csv)
    params = snakemake.params
    origin = {"models": params.models, "datasets": params.datasets}
    write_table(table, "linking_functions", snakemake.output.parquet, origin)
