"""Regress tokens' log-probability on their unigram log-probability over a corpus."""

import pandas as pd

from lingprob.corpora import iter_documents
from lingprob.files import dataset_paths
from lingprob.models.prepared import load_prepared
from lingprob.progress import Progress
from lingprob.scoring.frequency_slope import frequency_slope
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, model = snakemake.params, snakemake.wildcards.model
    lm, provenance = load_prepared(
        snakemake.input.model,
        params.model_entry,
        params.device,
        params.dtype,
        snakemake.resources.device_map,
    )
    unigrams = read_table(snakemake.input.unigrams, "unigrams").sort_values("token_id")
    with Progress(params.tokens, f"{model} on {params.corpus}", "tokens") as progress:
        slope, bins = frequency_slope(
            lm,
            iter_documents(params.entry["parser"], dataset_paths(params.corpus, params.entry)),
            unigrams["logprob"].to_numpy(),
            window=params.window,
            stride=params.stride,
            max_tokens=params.tokens,
            progress=progress,
        )
    keys = {"model": model, "corpus": params.corpus}
    row = {**keys, "unigrams": params.unigrams, **slope, "scale": params.scale}
    slopes = pd.DataFrame([row])
    write_table(slopes, "frequency_slopes", snakemake.output.slopes, provenance)
    write_table(bins.assign(**keys), "frequency_bins", snakemake.output.bins, provenance)
