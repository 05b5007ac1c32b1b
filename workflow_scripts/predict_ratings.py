"""Predict the ratings of data sets by linking functions fitted to the rated ones."""

from lingprob.io.tables import write_csv, write_table
from lingprob.papers.morcela.analysis import predict_ratings, read_datasets
from lingprob.workflow import job

with job(snakemake):
    params, files = snakemake.params, snakemake.input
    predicted = predict_ratings(
        snakemake.wildcards.model,
        read_datasets(params.datasets, files.stimuli, files.scores),
        fitted_to=params.fitted_to,
        convention=tuple(params.convention),
        cluster=params.cluster,
        scale=params.scale,
    )
    write_csv(predicted, snakemake.output.csv)
    write_table(predicted, "predicted_ratings", snakemake.output.parquet)
