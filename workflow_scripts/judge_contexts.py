"""Judge the pairs and items of all data sets after their prefixes, and without one."""

from pathlib import Path

from lingprob.context.model_judgments import Judge, Task
from lingprob.context.prefixes import tokenizer_of
from lingprob.io.files import identity_of
from lingprob.io.shards import delete_shards
from lingprob.io.tables import table_writer
from lingprob.models.loading import load_prepared
from lingprob.workflow import job, means

with job(snakemake):
    files, params = snakemake.input, snakemake.params
    how = means(snakemake, "device_map", "tokens_per_batch")
    lm, provenance = load_prepared(
        files.model, params.entry, params.device, params.dtype, how["device_map"]
    )
    shards = Path("resources/shards/context", Path(snakemake.output.judgments).parent.name)
    scoring = {
        "shard_directory": shards / snakemake.wildcards.model,
        "identity": identity_of(provenance, params.code),
        "tokens_per_batch": how["tokens_per_batch"] if lm.device.type == "cuda" else None,
        "workers": snakemake.threads if lm.device.type == "cpu" else 1,
    }
    model = Judge(lm, snakemake.wildcards.model, tokenizer_of(files.model), scoring=scoring)
    given = zip(params.tasks, files.stimuli, files.prefixes, strict=True)
    tasks = [Task(**task, stimuli=stimuli, prefixes=path) for task, stimuli, path in given]
    origin = {**provenance, "start_token": params.start_token}
    with table_writer("context_judgments", snakemake.output.judgments, origin) as write:
        for piece in model.after_prefixes(tasks, params.start_token):
            write(piece)
    if params.policies:
        path = snakemake.output.unprefixed
        with table_writer("context_unprefixed_judgments", path, provenance) as write:
            for piece in model.unprefixed(tasks, params.policies):
                write(piece)
    delete_shards(scoring["shard_directory"])
