"""Put what surprisal adds without leaked words, and given leakage, in one table."""

import pandas as pd

from lingprob.tables import read_table, write_csv
from lingprob.workflow import job

with job(snakemake):
    tables = [read_table(path, "leakage_adjusted") for path in snakemake.input]
    write_csv(pd.concat(tables, ignore_index=True), snakemake.output[0])
