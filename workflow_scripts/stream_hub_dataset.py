"""Stream the rows of a data set on the hub to a file and write its manifest."""

from pathlib import Path

import pandas as pd

from lingprob.files import sha256_of
from lingprob.hub_rows import HubRows, fetch_rows
from lingprob.rehearsal.datasets import write_stand_ins
from lingprob.tables import write_csv
from lingprob.workflow import job

with job(snakemake):
    dataset, entry = snakemake.wildcards.dataset, snakemake.params.entry
    folder, (file,) = Path(snakemake.output[0]).parent, entry["files"]
    target = folder / file["name"]
    write_stand_ins(dataset, [file], folder)
    source = (
        f"made up ({file['stand_in']})"
        if "stand_in" in file
        else fetch_rows(HubRows.of_entry(dataset, entry), target, code=snakemake.params.code)
    )
    row = {
        "name": target.name,
        "sha256": sha256_of(target),
        "bytes": target.stat().st_size,
        "source": source,
    }
    write_csv(pd.DataFrame([row]), snakemake.output[0])
