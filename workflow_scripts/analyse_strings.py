"""Test the three predictions on one model's scores."""

from lingprob.io.tables import read_table, write_table
from lingprob.papers.string_probability.analysis import analyse
from lingprob.papers.string_probability.data import Options, assemble
from lingprob.workflow import job

with job(snakemake):
    files, params, output = snakemake.input, snakemake.params, snakemake.output
    measured = [read_table(path, "minimalness") for path in files.distances]
    datasets = assemble(
        params.predictions,
        [read_table(path, "stimuli") for path in files.stimuli],
        [read_table(path, "sentence_scores") for path in files.scores],
        dict(zip(params.paired, measured, strict=True)),
        convention=tuple(params.convention),
        whole=[read_table(path, "stimuli") for path in files.whole],
    )
    vocabulary = [len(read_table(path, "unigrams")) for path in files.unigrams] or [None]
    options = Options(**params.options)
    results = analyse(snakemake.wildcards.model, datasets, params.pooled, vocabulary[0], options)
    for name, table in results.items():
        write_table(table, name, output[name], params.options)
