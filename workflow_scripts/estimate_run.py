"""Print and write what is still to be run, and what finished jobs used of what they asked for."""

from pathlib import Path

import pandas as pd

from lingprob.files import write_text
from lingprob.plan import Work
from lingprob.plan.factors import FACTORS, read_factors
from lingprob.plan.forecast import forecast, jobs_table
from lingprob.plan.jobs import read_jobs
from lingprob.plan.speeds import speeds
from lingprob.plan.usage import known_factors, read_usage, usage_table
from lingprob.plan.wording import describe
from lingprob.tables import write_csv
from lingprob.workflow import job
from lingprob.workflow.configuration import read_settings

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    work = Work(*read_settings(params.config))
    jobs = read_jobs(Path(params.snakefile), params.config, params.targets)
    seconds = {item.number: work.seconds(item.rule, item.wildcards, item.threads) for item in jobs}
    usage = read_usage(jobs, lambda item: seconds[item.number])
    factors = known_factors(usage, read_factors())
    expected = {item.number: factors.get(item.rule, 1.0) * seconds[item.number] for item in jobs}
    forecasts = forecast(jobs, params.targets, expected)
    text = describe(
        forecasts, usage, factors, speeds().sources(), params.left_out, scale=params.scale
    )
    if factors:
        write_csv(pd.DataFrame(factors.items(), columns=["rule", "factor"]), FACTORS)
    write_csv(pd.DataFrame([item.row() for item in forecasts]), output.csv)
    write_csv(jobs_table(jobs, expected), output.jobs)
    write_csv(usage_table(usage), output.usage)
    write_text(text, output.txt)
    print(text, flush=True)
