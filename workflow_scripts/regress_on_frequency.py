"""Regress tokens' log-probability on their unigram log-probability over a corpus."""

from lingprob.io.tables import read_metadata, read_table, write_table
from lingprob.stats.least_squares import frequency_slopes
from lingprob.workflow import job

with job(snakemake):
    params, output, files = snakemake.params, snakemake.output, snakemake.input
    slopes, bins = frequency_slopes(
        [read_table(path, "frequency_moments") for path in files.moments],
        [read_table(path, "frequency_documents") for path in files.documents],
    )
    about = {"model": snakemake.wildcards.model, "corpus": params.corpus}
    slopes = slopes.assign(**about, unigrams=params.unigrams, scale=params.scale)
    provenance = read_metadata(files.moments[0])
    write_table(slopes, "frequency_slopes", output.slopes, provenance)
    write_table(bins.assign(**about), "frequency_bins", output.bins, provenance)
