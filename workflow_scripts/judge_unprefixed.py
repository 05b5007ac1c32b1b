"""Say which pairs and items a model judges rightly without a prefix, under each BOS policy."""

from pathlib import Path

from lingprob.context.unprefixed import judge_unprefixed
from lingprob.files import identity_of
from lingprob.models.prepared import load_prepared
from lingprob.scoring.shards import delete_shards
from lingprob.stimuli.suites import suites_of
from lingprob.tables import read_table, write_table
from lingprob.workflow import job

with job(snakemake):
    files, params, resources = snakemake.input, snakemake.params, snakemake.resources
    wildcards = snakemake.wildcards
    lm, provenance = load_prepared(
        files.model, params.entry, params.device, params.dtype, resources.device_map
    )
    prefixes = read_table(files.prefixes, "context_prefixes", ["pair_ids"])
    shards = Path("resources/shards/context/unprefixed", *wildcards)
    judgments = judge_unprefixed(
        lm,
        read_table(files.stimuli, "stimuli"),
        {pair for pairs in prefixes["pair_ids"] for pair in pairs},
        params.policies,
        suites_of(wildcards.dataset, params.dataset_entry),
        model=wildcards.model,
        dataset=wildcards.dataset,
        shard_directory=shards,
        identity=identity_of(provenance, params.code),
        tokens_per_batch=resources.tokens_per_batch if lm.device.type == "cuda" else None,
        workers=snakemake.threads if lm.device.type == "cpu" else 1,
    )
    write_table(judgments, "context_unprefixed_judgments", snakemake.output[0], provenance)
    delete_shards(shards)
