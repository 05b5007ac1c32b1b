"""Test the three predictions on one model's scores."""

from lingprob.papers.string_probability.analysis import analyse
from lingprob.papers.string_probability.data import Options, assemble
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    datasets = assemble(
        params.predictions,
        [read_table(path, "stimuli") for path in snakemake.input.stimuli],
        [read_table(path, "sentence_scores") for path in snakemake.input.scores],
        dict(
            zip(
                params.paired,
                [read_table(path, "minimalness") for path in snakemake.input.distances],
                strict=True,
            )
        ),
        convention=tuple(params.convention),
        whole=[read_table(path, "stimuli") for path in snakemake.input.whole],
    )
    vocabulary = [len(read_table(path, "unigrams")) for path in snakemake.input.unigrams]
    results = analyse(
        snakemake.wildcards.model,
        datasets,
        params.pooled,
        vocabulary[0] if vocabulary else None,
        Options(**params.options),
    )
    for name, table in results.items():
        write_table(table, f"string_{name}", snakemake.output[name], params.options)
