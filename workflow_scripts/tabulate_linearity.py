"""Put what curves of surprisal add on all data sets in one table."""

from lingprob.tables import read_as_one, write_csv
from lingprob.workflow import job

with job(snakemake):
    write_csv(read_as_one(snakemake.input, "linearity"), snakemake.output[0])
