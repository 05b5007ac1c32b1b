"""Put the tables of all models and data sets together."""

from pathlib import Path

from lingprob.site.page import write_pages
from lingprob.tables import read_as_one, write_table
from lingprob.workflow import job

with job(snakemake):
    params, output = snakemake.params, snakemake.output
    tables = {}
    for path in map(Path, output.parquet):
        parts = [part for part in snakemake.input if Path(part).stem == path.stem]
        table = tables[path.stem] = read_as_one(parts, f"context_{path.stem}")
        origin = {"models": params.models, "seed": params.seed}
        write_table(table, f"context_{path.stem}", path, origin)
    write_pages(tables, {}, output.csv)
