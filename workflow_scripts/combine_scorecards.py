"""Put the scorecards of all targets into one."""

import pandas as pd

from lingprob.files import write_text
from lingprob.referee.page import scorecard_page
from lingprob.tables import read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    parts = [read_table(path, "scorecard") for path in snakemake.input]
    scorecard = pd.concat(parts, ignore_index=True)
    write_csv(scorecard, snakemake.output.csv)
    write_text(scorecard_page(scorecard, "Scorecard"), snakemake.output.html)
    write_table(scorecard, "scorecard", snakemake.output.parquet)
