"""Regress tokens' log-probability on their unigram log-probability over a corpus."""

import pandas as pd

from lingprob.regression.moments import frequency_slope
from lingprob.tables import read_metadata, read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    slope, bins = frequency_slope(
        [read_table(path, "frequency_moments") for path in snakemake.input.moments],
        [read_table(path, "frequency_documents") for path in snakemake.input.documents],
    )
    keys = {**snakemake.wildcards, "corpus": params.corpus}
    row = {**keys, "unigrams": params.unigrams, **slope, "scale": params.scale}
    provenance = read_metadata(snakemake.input.moments[0])
    write_table(pd.DataFrame([row]), "frequency_slopes", output.slopes, provenance)
    write_table(bins.assign(**keys), "frequency_bins", output.bins, provenance)
