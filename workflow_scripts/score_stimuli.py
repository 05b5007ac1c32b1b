"""Score a data set's sentences with one model after one start token."""

from pathlib import Path

from lingprob.files import identity_of
from lingprob.models.prepared import load_prepared
from lingprob.scoring.shards import delete_shards
from lingprob.scoring.stimuli import score_stimuli
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    wildcards, params, resources = snakemake.wildcards, snakemake.params, snakemake.resources
    stimuli = read_table(snakemake.input.stimuli, "stimuli")
    lm, provenance = load_prepared(
        snakemake.input.model, params.entry, params.device, params.dtype, resources.device_map
    )
    shards = Path(
        "resources/shards/scores", wildcards.model, wildcards.start_token, wildcards.dataset
    )
    scores = score_stimuli(
        lm,
        stimuli["item_id"].tolist(),
        stimuli["text"].tolist(),
        params.start_token,
        identity=identity_of(provenance, params.code),
        shard_directory=shards,
        sentences_per_shard=resources.sentences_per_shard,
        tokens_per_batch=resources.tokens_per_batch,
        window=lm.context_window,
        stride=max(1, int(params.window_stride * lm.context_window)),
        dataset=wildcards.dataset,
    )
    provenance["start_token"] = params.start_token
    write_table(scores, "scores", snakemake.output[0], provenance)
    delete_shards(shards)
