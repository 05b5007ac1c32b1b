"""Tokenise the chunks that models are trained on to rows of token ids."""

import json
from pathlib import Path

from lingprob.io.files import write_text
from lingprob.io.progress import Progress
from lingprob.io.tables import read_table
from lingprob.training.corpus import Chunk, prepare_corpus, split_chunks, tokenizer_file
from lingprob.workflow import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    chunks = [Chunk(*values) for values in params.chunks]
    table = inputs.get("selected")
    table = read_table(table, "overlap_chunks") if table else None
    with Progress(None, "tokenising the training corpus", "tokens") as progress:
        described = prepare_corpus(
            split_chunks(chunks, table),
            tokenizer_file=tokenizer_file(inputs.get("tokenizer")),
            vocabulary=params.vocabulary,
            context_window=params.context_window,
            folder=Path("resources/training"),
            code=params.code,
            progress=progress,
        )
    write_text(json.dumps(described, indent=1) + "\n", snakemake.output[0])
