"""List the words that the material of a text leaves out, or its book prints otherwise."""

from lingprob.io.files import dataset_paths
from lingprob.io.tables import write_csv
from lingprob.reading.printed import printed_geco, words_that_differ
from lingprob.workflow import job

with job(snakemake):
    files = dataset_paths(snakemake.wildcards.dataset, snakemake.params.entry)
    write_csv(words_that_differ(printed_geco(*files)), snakemake.output[0])
