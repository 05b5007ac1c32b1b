"""Regress tokens' log-probability on their unigram log-probability over a corpus."""

from lingprob.io.tables import read_table, write_table
from lingprob.models.loading import load_prepared
from lingprob.scoring.frequency_moments import frequency_moments
from lingprob.stats.least_squares import frequency_slopes
from lingprob.workflow import job, work_settings

with job(snakemake):
    params, output, files = snakemake.params, snakemake.output, snakemake.input
    how = work_settings(snakemake, "device_map")
    lm, provenance = load_prepared(files.model, params.entry, params.device, params.dtype, **how)
    unigrams = read_table(files.unigrams, "unigrams")
    binned, documents = frequency_moments(lm, unigrams, params.regressed, 0, params.shards)
    slopes, bins = frequency_slopes(
        [binned, *(read_table(path, "frequency_moments") for path in files.moments)],
        [documents, *(read_table(path, "frequency_documents") for path in files.documents)],
    )
    about = {"model": snakemake.wildcards.model, "corpus": params.regressed["corpus"]}
    slopes = slopes.assign(**about, unigrams=params.unigrams, scale=params.scale)
    write_table(slopes, "frequency_slopes", output.slopes, provenance)
    write_table(bins.assign(**about), "frequency_bins", output.bins, provenance)
