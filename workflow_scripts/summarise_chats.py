"""Accuracies in chats by method and context, beside probability after plain text."""

from lingprob.papers.context.chats import chat_table
from lingprob.tables import read_as_one, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    judgments = read_as_one(snakemake.input, "context_chat_judgments")
    table = chat_table(judgments, **params.settings)
    write_csv(table, output.csv)
    write_table(table, "context_chats", output.parquet, {"seed": params.settings["seed"]})
