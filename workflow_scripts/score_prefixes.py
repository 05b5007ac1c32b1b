"""Log-probabilities of targets after their prefixes, each prefix run once."""

from pathlib import Path

from lingprob.context.scores import formula_regions, score_prefixes
from lingprob.context.writing import WRITINGS
from lingprob.files import identity_of
from lingprob.models.prepared import load_prepared
from lingprob.scoring.shards import delete_shards
from lingprob.stimuli.suites import suites_of
from lingprob.tables import iterate_table, read_table, table_writer
from lingprob.workflow import job

PREFIXES_AT_ONCE = 5000
READ = ["prefix_id", "kind", "pair_ids", "text", "char_ends"]

with job(snakemake):
    files, params, resources = snakemake.input, snakemake.params, snakemake.resources
    wildcards = snakemake.wildcards
    lm, provenance = load_prepared(
        files.model, params.entry, params.device, params.dtype, resources.device_map
    )
    counts = read_table(files.n_tokens, "context_prefix_tokens", ["prefix_id", "n_tokens"])
    shards = Path("resources/shards/context", *wildcards)
    pieces = score_prefixes(
        lm,
        read_table(files.stimuli, "stimuli"),
        iterate_table(files.prefixes, "context_prefixes", "prefix_id", PREFIXES_AT_ONCE, READ),
        counts,
        params.lengths,
        start_token=params.start_token,
        regions=formula_regions(suites_of(wildcards.dataset, params.dataset_entry)),
        baselines=wildcards.stage == "sampled",
        dataset=wildcards.dataset,
        separator=WRITINGS[params.language].separator,
        shard_directory=shards,
        identity=identity_of(provenance, params.code),
        tokens_per_batch=resources.tokens_per_batch if lm.device.type == "cuda" else None,
        workers=snakemake.threads if lm.device.type == "cpu" else 1,
    )
    provenance["start_token"] = params.start_token
    with table_writer("context_scores", snakemake.output[0], provenance) as write:
        for piece in pieces:
            write(piece)
    delete_shards(shards)
