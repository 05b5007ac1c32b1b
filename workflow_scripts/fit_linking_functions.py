"""Fit one model's linking functions under each convention, and predict ratings."""

import pandas as pd

from lingprob.io.tables import write_csv, write_table
from lingprob.papers.morcela.analysis import (
    fit_model,
    predict_datasets,
    read_datasets,
    tabulate_sentences,
)
from lingprob.workflow import job

with job(snakemake):
    params, output, model = snakemake.params, snakemake.output, snakemake.wildcards.model
    every = read_datasets(params.predicted, snakemake.input.stimuli, snakemake.input.scores)
    fitted = {name: every[name] for name in params.fitted}
    convention, scale = tuple(params.convention), params.scale
    units = {"cluster": params.cluster, "keep_together": params.keep_together}
    origin = {"seed": params.seed, **units}
    options = {
        "default_convention": convention,
        "bootstrap": params.bootstrap,
        "seed": params.seed,
        "scale": scale,
        "folds": params.folds,
        "repeats": params.repeats,
        **units,
    }
    fits, draws = fit_model(model, fitted, **options)
    write_table(fits, "linking_functions", output.fits, origin)
    write_csv(fits, output.csv)
    write_table(draws, "linking_draws", output.draws, origin)
    about = {"convention": convention, "cluster": params.cluster, "scale": scale}
    predicted = predict_datasets(model, every, fitted_to=params.fitted, **about)
    write_csv(predicted, output.predictions_csv)
    write_table(predicted, "predicted_ratings", output.predictions)
    described = (
        pd.read_csv(path, dtype=str, keep_default_na=False) for path in snakemake.input.described
    )
    described = dict(zip(every, described, strict=True))
    sentences = tabulate_sentences(model, every, described, predicted, convention)
    write_csv(sentences, output.by_sentence)
