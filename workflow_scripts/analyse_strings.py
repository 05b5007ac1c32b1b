"""Test the three predictions on one model's scores."""

from lingprob.io.tables import read_table, write_table
from lingprob.papers.string_probability.analysis import analyse, compare_conventions
from lingprob.papers.string_probability.data import Options, assemble
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    convention = tuple(params.convention)
    scores = [read_table(path, "sentence_scores") for path in snakemake.input.scores]
    datasets = assemble(
        params.predictions,
        [read_table(path, "stimuli") for path in snakemake.input.stimuli],
        scores,
        dict(
            zip(
                params.paired,
                [read_table(path, "minimalness") for path in snakemake.input.distances],
                strict=True,
            )
        ),
        convention=convention,
        whole=[read_table(path, "stimuli") for path in snakemake.input.whole],
    )
    vocabulary = [len(read_table(path, "unigrams")) for path in snakemake.input.unigrams]
    model, options = snakemake.wildcards.model, Options(**params.options)
    results = analyse(
        model, datasets, params.pooled, vocabulary[0] if vocabulary else None, options
    )
    results["string_conventions"] = compare_conventions(
        model, datasets, scores, convention=convention, options=options
    )
    for name, table in results.items():
        write_table(
            table, f"string_{name.removeprefix('string_')}", snakemake.output[name], params.options
        )
