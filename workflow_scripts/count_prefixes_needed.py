"""A model's variance components by suite, target and prefix, and the prefixes a claim needs."""

import pandas as pd

from lingprob.context.names import NO_PREFIX
from lingprob.papers.context.prefix_numbers import changes, prefix_tables, some_pairs
from lingprob.papers.context.prefix_power import samples
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    alone = read_table(files.judgments[0], "context_judgments", where={"kind": [NO_PREFIX]})
    wanted = {"pair_id": some_pairs(alone)}
    judgments, scores = (
        pd.concat([read_table(path, name, where=wanted) for path in paths], ignore_index=True)
        for name, paths in (
            ("context_judgments", files.judgments),
            ("context_scores", files.scores),
        )
    )
    stimuli = read_table(files.stimuli, "stimuli", ["item_id", "grammatical"])
    acceptable = stimuli.set_index("item_id")["grammatical"]
    rows = changes(judgments, scores, acceptable, params.longest)
    variances, needed = prefix_tables(rows, samples(alone, **params.drawn), **params.settings)
    about = {"model": snakemake.wildcards.model, "dataset": snakemake.wildcards.dataset}
    about["scale"] = params.scale
    write_table(variances.assign(**about), "prefix_variances", output.variances, params.settings)
    write_table(needed.assign(**about), "prefixes_needed", output.needed, params.settings)
