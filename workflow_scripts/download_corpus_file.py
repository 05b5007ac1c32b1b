"""Fetch one file of a corpus and write its manifest."""

from pathlib import Path

import pandas as pd

from lingprob.download import RemoteFile, fetch_files
from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    corpus, file = snakemake.wildcards.corpus, snakemake.params.file
    manifest = fetch_files(
        [RemoteFile(file["name"], *map(file.get, ("sha256", "bytes", "mirror", "url")))],
        Path("resources/datasets") / corpus,
        dataset=corpus,
        instructions=snakemake.params.instructions,
    )
    write_csv(pd.DataFrame(manifest), snakemake.output[0])
