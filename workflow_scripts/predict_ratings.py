"""Predict a data set's ratings by linking functions fitted to rated data sets."""

from lingprob.papers.morcela.predictions import DataSet, predict_ratings
from lingprob.tables import read_table, write_csv, write_table
from lingprob.workflow import job

with job(snakemake):
    params, given, wildcards = snakemake.params, snakemake.input, snakemake.wildcards

    def data_set(stimuli, scores):
        return DataSet(read_table(stimuli, "stimuli"), read_table(scores, "sentence_scores"))

    rated = map(data_set, given.rated_stimuli, given.rated_scores)
    predicted = predict_ratings(
        wildcards.model,
        wildcards.dataset,
        data_set(given.stimuli, given.scores),
        dict(zip(params.fitted_to, rated, strict=True)),
        convention=(params.bos, params.unigrams),
        cluster=params.cluster,
        scale=params.scale,
    )
    write_csv(predicted, snakemake.output.csv)
    write_table(predicted, "predicted_ratings", snakemake.output.parquet)
