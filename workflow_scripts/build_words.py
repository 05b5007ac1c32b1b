"""Parse the text of a reading-time corpus to a table of words."""

from lingprob.io.files import dataset_paths
from lingprob.io.tables import write_table
from lingprob.reading.texts import build_words
from lingprob.workflow import job

with job(snakemake):
    corpus, entry = snakemake.wildcards.dataset, snakemake.params.entry
    words = build_words(corpus, entry, dataset_paths(corpus, entry))
    write_table(words, "words", snakemake.output[0], {"dataset": corpus})
