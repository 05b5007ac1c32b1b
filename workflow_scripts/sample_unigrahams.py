"""Let a model generate text and add up its next-token distributions."""

from lingprob.io.progress import Progress
from lingprob.io.tables import write_table
from lingprob.models.loading import load_prepared
from lingprob.unigrams.estimate import sums_table
from lingprob.unigrams.unigrahams import Sampling, unigrahams_sums
from lingprob.workflow import job, work_settings

with job(snakemake):
    wildcards, params = snakemake.wildcards, snakemake.params
    lm, provenance = load_prepared(
        snakemake.input.model,
        params.entry,
        params.device,
        params.dtype,
        **work_settings(snakemake, "device_map"),
    )
    sampling = Sampling(
        params.samples,
        params.seed,
        shard=int(wildcards.shard),
        n_shards=int(wildcards.shards),
        top_k=params.sampling["top_k"],
        suppressed_id=lm.start_id("eos") if params.sampling["suppress_eos"] else None,
    )
    with Progress(None, f"sampling from {wildcards.model}", "samples") as progress:
        prompt = [lm.start_id(params.start_token)]
        sums, squares, samples = unigrahams_sums(lm, prompt, sampling, progress)
    provenance |= {"estimator": wildcards.sampling, "total": samples, **params.sampling}
    write_table(sums_table(sums, squares), "unigram_sums", snakemake.output[0], provenance)
