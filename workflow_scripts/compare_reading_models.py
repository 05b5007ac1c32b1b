"""How much better each model's surprisal predicts the same reading times than each other's."""

from lingprob.papers.leakage.reading.model_differences import model_differences
from lingprob.tables import read_as_one, read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    differences = model_differences(
        read_as_one(snakemake.input.gains, "reading_gains"),
        read_table(snakemake.input.deltas, "delta_log_likelihood"),
        draws=params.bootstrap,
        seed=params.seed,
    )
    write_csv(differences, output.csv)
    write_table(differences, "model_differences", output.parquet)
