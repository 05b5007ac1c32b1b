"""Accuracies with intervals, regressions, matrices, overlaps and their correlations."""

from pathlib import Path

import pandas as pd

from lingprob.context.prefixes import tokenizer_of
from lingprob.papers.context.summary import summarise
from lingprob.report import write_pages
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    tables, points = summarise(
        *(
            pd.concat([read_table(path, schema) for path in paths])
            for paths, schema in (
                (files.judgments, "context_judgments"),
                (files.changed_judgments, "context_judgments"),
                (files.unprefixed, "context_unprefixed_judgments"),
            )
        ),
        read_table(files.stimuli, "stimuli"),
        read_table(files.prefixes, "context_prefixes"),
        read_table(files.perturbed_prefixes, "context_prefixes"),
        tokenizer_of(files.tokenizer),
        primary=params.primary,
        overlap_sentences=params.overlap_sentences,
        fewest_pairs=params.fewest_pairs,
        bootstrap=params.bootstrap,
        seed=params.seed,
        scale=params.scale,
    )
    for path in output.parquet:
        name = Path(path).stem
        write_table(tables[name], f"context_{name}", path, {"seed": params.seed})
    write_pages(tables, {}, output.csv)
    write_table(points, "context_points", output.points)
