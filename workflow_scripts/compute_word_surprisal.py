"""Word surprisals of a text under one model."""

from pathlib import Path

from lingprob.files import identity_of
from lingprob.models.prepared import load_prepared
from lingprob.reading.surprisal import word_surprisals
from lingprob.scoring.shards import delete_shards
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    wildcards, params, resources = snakemake.wildcards, snakemake.params, snakemake.resources
    lm, provenance = load_prepared(
        snakemake.input.model, params.entry, params.device, params.dtype, resources.device_map
    )
    shards = Path("resources/shards/surprisal", wildcards.model, wildcards.texts)
    window = min(params.window, lm.context_window)
    surprisals = word_surprisals(
        lm,
        read_table(snakemake.input.words, "words"),
        start_token=params.start_token,
        context=params.context,
        window=window,
        stride=max(1, int(params.window_stride * window)),
        window_counts=params.window_counts,
        blanks=params.blanks,
        tokens_per_batch=resources.tokens_per_batch,
        shard_directory=shards,
        identity=identity_of(provenance, params.code),
    )
    keys = ("start_token", "context", "window_counts", "blanks")
    provenance |= {"window": window, **{key: params.get(key) for key in keys}}
    write_table(surprisals, "surprisal", snakemake.output[0], provenance)
    delete_shards(shards)
