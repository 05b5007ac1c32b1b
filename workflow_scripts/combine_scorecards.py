"""Put the scorecards of all targets into one."""

from lingprob.files import write_text
from lingprob.scorecard.page import scorecard_page
from lingprob.tables import read_as_one, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    scorecard = read_as_one(snakemake.input, "scorecard")
    write_csv(scorecard, snakemake.output.csv)
    write_text(scorecard_page(scorecard, "Scorecard"), snakemake.output.html)
    write_table(scorecard, "scorecard", snakemake.output.parquet)
