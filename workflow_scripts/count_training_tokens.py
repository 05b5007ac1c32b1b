"""Compute unigram log-probabilities of the training text up to a number of steps."""

import json
from pathlib import Path

from lingprob.io.progress import Progress
from lingprob.io.tables import write_table
from lingprob.training.corpus import TrainingData, count_seen_tokens
from lingprob.unigrams.estimate import smoothed_logprobs, sums_table
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    corpus = json.loads(Path(snakemake.input[0]).read_text())
    data = TrainingData(corpus, params.validation_examples)
    for path in snakemake.output:
        steps = int(Path(path).stem.removeprefix("training_"))
        with Progress(steps, "counting the training text", "steps") as progress:
            counts = count_seen_tokens(data, steps, params.batch_size, params.seed, progress)
        total, smoothing = int(counts.sum()), params.smoothing
        unigrams = smoothed_logprobs(sums_table(counts), smoothing=smoothing, total=total)
        provenance = {"estimator": "counts", "total": total, "smoothing": smoothing}
        write_table(unigrams, "unigrams", path, provenance)
