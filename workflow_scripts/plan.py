"""Print and write the cost of a run: GPU hours, memory and downloads by model and paper."""

import pandas as pd

from lingprob.io.files import write_text
from lingprob.io.tables import write_csv
from lingprob.workflow import job
from lingprob.workflow.configuration import read_settings
from lingprob.workflow.costs import Costs
from lingprob.workflow.plan import as_text, plan, totals

with job(snakemake):
    costs = Costs(*read_settings(snakemake.params.config))
    rows = plan(costs)
    text = as_text(totals(rows), costs.settings["scale"], snakemake.params.left_out)
    write_csv(pd.DataFrame(rows), snakemake.output.csv)
    write_text(text, snakemake.output.txt)
    print(text, flush=True)
