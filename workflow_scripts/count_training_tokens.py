"""Count the tokens that models have met after so many steps of training."""

import json
from pathlib import Path

from lingprob.progress import Progress
from lingprob.tables import write_table
from lingprob.training.corpus import TrainingData
from lingprob.training.seen_tokens import count_seen_tokens
from lingprob.unigrams.estimate import sums_table
from lingprob.workflow import job

with job(snakemake):
    params, steps = snakemake.params, int(snakemake.wildcards.steps)
    corpus = json.loads(Path(snakemake.input[0]).read_text())
    with Progress(steps, "counting the training text", "steps") as progress:
        counts = count_seen_tokens(
            TrainingData(corpus, params.validation_examples),
            steps,
            params.batch_size,
            params.seed,
            progress,
        )
    provenance = {"estimator": "counts", "total": counts.sum(), "steps": steps}
    write_table(sums_table(counts), "unigram_sums", snakemake.output[0], provenance)
