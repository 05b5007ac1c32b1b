"""Compute word surprisals of texts under one model."""

from pathlib import Path

from lingprob.io.files import identity_of
from lingprob.io.shards import Shards
from lingprob.io.tables import read_table, with_texts, write_csv, write_table
from lingprob.models.loading import load_prepared
from lingprob.reading.surprisal import word_surprisals
from lingprob.scoring.engine import Scorer
from lingprob.workflow import job, work_settings

KEYS = ("start_token", "context", "window_counts")

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    how = work_settings(snakemake, "device_map", "tokens_per_batch")
    lm, provenance = load_prepared(
        snakemake.input.model, params.entry, params.device, params.dtype, how["device_map"]
    )
    scorer = Scorer(lm, how["tokens_per_batch"])
    shards = Shards(
        Path("resources/shards/surprisal", snakemake.wildcards.model),
        identity_of(provenance, params.engine),
    )
    chosen = {key: params.get(key) for key in KEYS}
    for path, table, csv in zip(snakemake.input.words, output.tables, output.csv, strict=True):
        words = read_table(path, "words")
        surprisals = word_surprisals(
            lm,
            words,
            **chosen,
            shards=shards,
            scorer=scorer,
            workers=snakemake.threads if lm.device.type == "cpu" else 1,
        )
        write_table(surprisals, "surprisal", table, provenance | chosen)
        write_csv(with_texts(surprisals, "surprisal", words), csv)
