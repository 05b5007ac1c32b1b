"""Say which pairs and items a model judges rightly after which prefixes."""

from lingprob.context.judgments import judge
from lingprob.stimuli.suites import suites_of
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, dataset = snakemake.input, snakemake.wildcards.dataset
    judgments = judge(
        snakemake.wildcards.model,
        dataset,
        read_table(files.stimuli, "stimuli"),
        read_table(files.prefixes, "context_prefixes"),
        read_table(files.scores, "context_scores"),
        suites_of(dataset, snakemake.params.dataset_entry),
    )
    write_table(judgments, "context_judgments", snakemake.output[0])
