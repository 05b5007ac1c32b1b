"""Score a data set's sentences with one masked model under one correction."""

from pathlib import Path

from lingprob.files import identity_of
from lingprob.models.masked import load_prepared_masked
from lingprob.scoring.masked import score_masked
from lingprob.scoring.shards import delete_shards
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    wildcards, params, resources = snakemake.wildcards, snakemake.params, snakemake.resources
    stimuli = read_table(snakemake.input.stimuli, "stimuli")
    lm, provenance = load_prepared_masked(snakemake.input.model, params.device, params.dtype)
    shards = Path(
        "resources/shards/scores", wildcards.model, wildcards.start_token, wildcards.dataset
    )
    scores = score_masked(
        lm,
        stimuli["item_id"].tolist(),
        stimuli["text"].tolist(),
        params.correction,
        dataset=wildcards.dataset,
        shard_directory=shards,
        identity=identity_of(provenance, params.code),
        sentences_per_shard=resources.sentences_per_shard,
        tokens_per_batch=resources.tokens_per_batch,
    )
    provenance["correction"] = params.correction
    write_table(scores, "scores", snakemake.output[0], provenance)
    delete_shards(shards)
