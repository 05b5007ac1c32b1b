"""Put passages that people read into what models are trained on, so many times each."""

import json
from pathlib import Path

import numpy as np
from transformers import PreTrainedTokenizerFast

from lingprob.overlap.tokenizing import usual_tokenize
from lingprob.progress import Progress
from lingprob.reading.texts import passage_texts
from lingprob.tables import read_table
from lingprob.training.corpus import write_description
from lingprob.training.insertion import write_dosed_corpus
from lingprob.workflow import job

with job(snakemake):
    inputs, params = snakemake.input, snakemake.params
    copies, options = int(snakemake.wildcards.copies), params.options
    corpus = json.loads(Path(inputs.corpus).read_text())
    texts = [text for path in inputs.words for text in passage_texts(read_table(path, "words"))]
    file = str(Path(corpus["tokenizer"]) / "tokenizer.json")
    ids = usual_tokenize(PreTrainedTokenizerFast(tokenizer_file=file))(texts)
    with Progress(options["steps"] * options["batch_size"], "writing rows", "rows") as progress:
        described = write_dosed_corpus(
            corpus,
            [np.asarray(passage, dtype=np.int64) for passage in ids],
            copies,
            **options,
            folder=Path(f"resources/training/doses/{copies}"),
            progress=progress,
        )
    write_description(described, snakemake.output[0])
