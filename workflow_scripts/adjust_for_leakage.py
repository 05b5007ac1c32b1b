"""What surprisal adds without the words that the searched corpora have, or given their length."""

from lingprob.papers.leakage.reading.analysis import read_study
from lingprob.papers.leakage.reading.leaked_words import adjusted_deltas, most_leaked
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    study = read_study(
        snakemake.wildcards.dataset, params.entry, params.models, dict(files.items())
    )
    adjusted = adjusted_deltas(
        study,
        most_leaked([read_table(path, "word_leakage") for path in files.leakage]),
        params.thresholds,
        contexts=params.contexts,
        corrections=params.corrections,
        **params.options,
    )
    write_table(adjusted, "leakage_adjusted", snakemake.output[0], params.options)
