"""List what was left out of the run, and how to get it."""

import pandas as pd

from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    columns = ["name", "named_in", "remedy"]
    write_csv(pd.DataFrame(snakemake.params.left_out, columns=columns), snakemake.output[0])
