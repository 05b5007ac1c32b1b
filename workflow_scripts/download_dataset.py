"""Fetch a data set's files and write their manifest."""

from pathlib import Path

import pandas as pd

from lingprob.download import RemoteFile, fetch_files
from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    dataset, entry = snakemake.wildcards.dataset, snakemake.params.entry
    manifest = fetch_files(
        [
            RemoteFile(file["name"], *map(file.get, ("sha256", "bytes", "mirror", "url")))
            for file in entry["files"]
        ],
        Path(snakemake.output[0]).parent,
        dataset=dataset,
        instructions=entry.get("instructions"),
    )
    write_csv(pd.DataFrame(manifest), snakemake.output[0])
