"""Put what copies of the passages in training do, on all data sets, in two tables."""

from lingprob.tables import read_as_one, write_csv
from lingprob.workflow import job

with job(snakemake):
    inputs, output = snakemake.input, snakemake.output
    write_csv(read_as_one(inputs.effects, "dose_effects"), output.effects)
    write_csv(read_as_one(inputs.slopes, "dose_slopes"), output.slopes)
