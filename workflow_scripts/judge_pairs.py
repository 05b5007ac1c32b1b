"""Say which pairs and items a model judges rightly after which prefixes."""

from lingprob.context.judgments import DESCRIBED, judge
from lingprob.stimuli.suites import suites_of
from lingprob.tables import iterate_table, read_table, table_writer
from lingprob.workflow import job

with job(snakemake):
    files, dataset = snakemake.input, snakemake.wildcards.dataset
    stimuli = read_table(files.stimuli, "stimuli")
    prefixes = read_table(files.prefixes, "context_prefixes", ["prefix_id", *DESCRIBED])
    suites = suites_of(dataset, snakemake.params.dataset_entry)
    with table_writer("context_judgments", snakemake.output[0]) as write:
        for scores in iterate_table(files.scores, "context_scores", "prefix_id"):
            write(judge(snakemake.wildcards.model, dataset, stimuli, prefixes, scores, suites))
