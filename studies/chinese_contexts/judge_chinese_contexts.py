"""Judge the pairs of Chinese data sets after their prefixes, and without one."""

from pathlib import Path

from lingprob.context.prefixes import tokenizer_of
from lingprob.context.scores import Task, judge_contexts
from lingprob.io.files import identity_of
from lingprob.io.shards import Shards, delete_shards
from lingprob.io.tables import table_writer
from lingprob.models.loading import load_prepared
from lingprob.scoring.engine import Scorer
from lingprob.workflow import job, work_settings
from studies.chinese_contexts.analysis import CHINESE

with job(snakemake):
    files, params, name = snakemake.input, snakemake.params, snakemake.wildcards.model
    how = work_settings(snakemake, "device_map", "tokens_per_batch")
    lm, provenance = load_prepared(
        files.model, params.entry, params.device, params.dtype, how["device_map"]
    )
    shards = Path("resources/shards/chinese_contexts", name)
    given = zip(params.tasks, files.stimuli, files.prefixes, strict=True)
    tasks = [Task(**task, stimuli=stimuli, prefixes=path) for task, stimuli, path in given]
    pieces = judge_contexts(
        Scorer(lm, how["tokens_per_batch"] if lm.device.type == "cuda" else None),
        name,
        tokenizer_of(files.model),
        tasks,
        start_token=params.start_token,
        separator=CHINESE.separator,
        shards=Shards(shards, identity_of(provenance, params.code)),
        workers=snakemake.threads if lm.device.type == "cpu" else 1,
    )
    with table_writer("context_judgments", snakemake.output[0], provenance) as write:
        for piece in pieces:
            write(piece)
    delete_shards(shards)
