"""Write a table of one model as CSV, with the texts that its rows are about."""

from lingprob.exports import with_texts
from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    texts = next(iter(snakemake.input.texts), None)
    write_csv(with_texts(snakemake.input.table, texts), snakemake.output[0])
