"""Put what surprisal adds without leaked words, and given leakage, in one table."""

from lingprob.tables import read_as_one, write_csv
from lingprob.workflow import job

with job(snakemake):
    write_csv(read_as_one(snakemake.input, "leakage_adjusted"), snakemake.output[0])
