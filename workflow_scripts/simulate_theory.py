"""Derive the predictions from the theory by simulation."""

from lingprob.papers.string_probability.simulation import simulate
from lingprob.report import write_pages
from lingprob.tables import write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    table = simulate(params.scale, params.seed)
    write_table(table, "string_simulations", snakemake.output.parquet, {"seed": params.seed})
    write_pages({"simulations": table}, {}, [snakemake.output.csv])
