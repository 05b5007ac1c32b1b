"""Fetch the chunks for training and validation again, because scans do not keep them."""

from pathlib import Path

import pandas as pd

from lingprob.io.progress import Progress
from lingprob.io.tables import read_table, write_csv
from lingprob.training.preshuffled import leakage_free, obtain_file
from lingprob.workflow import job

with job(snakemake):
    corpus, params = snakemake.wildcards.corpus, snakemake.params
    selected = snakemake.input.get("selected")
    chunks = params.chunks
    if selected:
        chunks = leakage_free(corpus, chunks, read_table(selected, "overlap_chunks"))
    manifests = []
    with Progress(len(chunks), f"chunks of {corpus}", "chunks") as progress:
        for chunk in chunks:
            manifests.append(obtain_file(corpus, chunk, Path("resources/datasets", corpus)))
            progress.advance()
    columns = ["name", "sha256", "bytes", "source"]
    write_csv(pd.concat([pd.DataFrame(columns=columns), *manifests]), snakemake.output[0])
