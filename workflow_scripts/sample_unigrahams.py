"""Let a model generate text and add up its next-token distributions."""

from pathlib import Path

from lingprob.io.files import identity_of
from lingprob.io.progress import Progress
from lingprob.io.tables import write_table
from lingprob.models.loading import load_prepared
from lingprob.unigrams.estimate import sums_table
from lingprob.unigrams.unigrahams import unigrahams_sums
from lingprob.workflow import job, means

with job(snakemake):
    wildcards, params = snakemake.wildcards, snakemake.params
    lm, provenance = load_prepared(
        snakemake.input.model,
        params.entry,
        params.device,
        params.dtype,
        **means(snakemake, "device_map"),
    )
    checkpoint = Path("resources/shards/unigrahams", *Path(snakemake.output[0]).parts[-3:])
    with Progress(None, f"sampling from {wildcards.model}", "samples") as progress:
        sums, sums_of_squares, samples = unigrahams_sums(
            lm,
            [lm.start_id(params.start_token)],
            samples=params.samples,
            seed=params.seed,
            shard=int(wildcards.shard),
            n_shards=int(wildcards.shards),
            top_k=params.sampling["top_k"],
            suppressed_id=lm.start_id("eos") if params.sampling["suppress_eos"] else None,
            progress=progress,
            checkpoint=checkpoint,
            identity=identity_of(provenance, params.code),
        )
    provenance |= {"estimator": wildcards.sampling, "total": samples, **params.sampling}
    table = sums_table(sums, sums_of_squares)
    write_table(table, "unigram_sums", snakemake.output[0], provenance)
    checkpoint.unlink(missing_ok=True)
