"""Log-probabilities of Chinese targets right after their prefixes, each prefix run once."""

from pathlib import Path

from lingprob.context.chinese_scores import unspaced
from lingprob.context.scores import score_prefixes
from lingprob.files import identity_of
from lingprob.models.prepared import load_prepared
from lingprob.scoring.shards import delete_shards
from lingprob.tables import iterate_table, read_table, table_writer
from lingprob.workflow import job

PREFIXES_AT_ONCE = 5000
READ = ["prefix_id", "kind", "pair_ids", "text", "char_ends"]

with job(snakemake):
    files, params, resources = snakemake.input, snakemake.params, snakemake.resources
    lm, provenance = load_prepared(
        files.model, params.entry, params.device, params.dtype, resources.device_map
    )
    shards = Path("resources/shards/context", *snakemake.wildcards)
    pieces = score_prefixes(
        unspaced(lm),
        read_table(files.stimuli, "stimuli"),
        iterate_table(files.prefixes, "context_prefixes", "prefix_id", PREFIXES_AT_ONCE, READ),
        read_table(files.n_tokens, "context_prefix_tokens", ["prefix_id", "n_tokens"]),
        params.lengths,
        start_token=params.start_token,
        regions={},
        baselines=True,
        dataset=snakemake.wildcards.dataset,
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
