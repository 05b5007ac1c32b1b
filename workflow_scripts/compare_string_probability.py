"""Compare our numbers and the paper's claims, and say which we cannot compute here."""

import pandas as pd

from lingprob.papers.string_probability.scorecard import compare_string_probability
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    correlations, separation = (
        pd.concat(
            [read_table(path, f"string_{name}") for path in snakemake.input[name]],
            ignore_index=True,
        )
        for name in ("correlations", "separation")
    )
    scorecard = compare_string_probability(
        snakemake.params.published,
        correlations,
        separation,
        pd.read_csv(snakemake.input.counts),
        pd.read_csv(snakemake.input.filters),
        snakemake.params.scale,
    )
    write_table(scorecard, "scorecard", snakemake.output[0])
