"""Print and write what a run costs: GPU hours, memory and downloads of each model and paper."""

from lingprob.io.files import write_text
from lingprob.io.tables import write_csv
from lingprob.plan.estimate import as_text, estimate, totals
from lingprob.workflow import job
from lingprob.workflow.configuration import read_settings

with job(snakemake):
    settings, catalog = read_settings(snakemake.params.config)
    table = estimate(settings, catalog)
    text = as_text(totals(table), settings["scale"], snakemake.params.left_out)
    write_csv(table, snakemake.output.csv)
    write_text(text, snakemake.output.txt)
    print(text, flush=True)
