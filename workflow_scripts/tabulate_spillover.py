"""Put what surprisals of previous words add on all data sets in two tables."""

from lingprob.tables import read_as_one, write_csv
from lingprob.workflow import job

with job(snakemake):
    inputs, output = snakemake.input, snakemake.output
    write_csv(read_as_one(inputs.gains, "spillover"), output.gains)
    write_csv(read_as_one(inputs.slopes, "spillover_slopes"), output.slopes)
