"""Judge pairs in chats: by probability, by labelled examples, by the question which is better."""

from lingprob.context.chats import judge_chats
from lingprob.models.prepared import load_prepared
from lingprob.tables import read_table, table_writer
from lingprob.workflow import job

READ = ["prefix_id", "kind", "perturbation", "pair_ids", "source_ids"]

with job(snakemake):
    files, params, resources = snakemake.input, snakemake.params, snakemake.resources
    wildcards = snakemake.wildcards
    lm, provenance = load_prepared(
        files.model, params.entry, params.device, params.dtype, resources.device_map
    )
    pieces = judge_chats(
        lm,
        read_table(files.stimuli, "stimuli"),
        read_table(files.prefixes, "context_prefixes", READ),
        sentences=params.sentences,
        start_token=params.start_token,
        model=wildcards.model,
        dataset=wildcards.dataset,
        tokens_per_batch=resources.tokens_per_batch if lm.device.type == "cuda" else None,
    )
    provenance["start_token"] = params.start_token
    with table_writer("context_chat_judgments", snakemake.output[0], provenance) as write:
        for judgments in pieces:
            write(judgments)
