"""Predict a data set's ratings by linking functions fitted to rated data sets."""

from lingprob.papers.morcela.predictions import predict_ratings
from lingprob.papers.morcela.rated import read_datasets
from lingprob.tables import write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    params, given, wildcards = snakemake.params, snakemake.input, snakemake.wildcards
    wanted = read_datasets([wildcards.dataset], [given.stimuli], [given.scores])
    predicted = predict_ratings(
        wildcards.model,
        wildcards.dataset,
        wanted[wildcards.dataset],
        read_datasets(params.fitted_to, given.rated_stimuli, given.rated_scores),
        convention=(params.bos, params.unigrams),
        cluster=params.cluster,
        scale=params.scale,
    )
    write_csv(predicted, snakemake.output.csv)
    write_table(predicted, "predicted_ratings", snakemake.output.parquet)
