"""Compare our numbers with those in the papers."""

import pandas as pd

from lingprob.files import write_text
from lingprob.report import table_as_html
from lingprob.scorecard import compare_leakage, compare_morcela
from lingprob.tables import read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    stimuli = [read_table(path, "stimuli") for path in snakemake.input.stimuli]
    morcela = compare_morcela(
        params.published["morcela"],
        read_table(snakemake.input.linking_functions, "linking_functions"),
        read_table(snakemake.input.intergroup_correlation, "intergroup_correlation"),
        dict(zip(params.datasets, stimuli, strict=True)),
        params.scale,
    )
    overlaps = read_table(snakemake.input.overlaps, "overlap")
    leakage = compare_leakage(params.published["leakage"], overlaps, params.scale)
    scorecard = pd.concat([morcela, leakage], ignore_index=True)
    write_csv(scorecard, snakemake.output.csv)
    write_text(table_as_html(scorecard, "Scorecard", "verdict"), snakemake.output.html)
    write_table(scorecard, "scorecard", snakemake.output.parquet)
