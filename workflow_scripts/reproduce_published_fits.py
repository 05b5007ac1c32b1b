"""Repeat the published fits of twelve models to Natural Stories, and correct them."""

from pathlib import Path

from lingprob.io.tables import read_table, write_table
from lingprob.papers.leakage.inverse_scaling import published_deltas, read_annotated_means
from lingprob.workflow import job

with job(snakemake):
    params = snakemake.params
    folder = Path(snakemake.input.published).parent
    tables = [read_table(path, "surprisal") for path in snakemake.input.surprisals]
    fits, gains = published_deltas(
        read_annotated_means(folder / "all.txt.annotation.filtered.averaged_rt.csv"),
        {
            name: (folder / path, folder / f"{path}.result")
            for name, path in params.published.items()
        },
        dict(zip(params.models, tables, strict=True)),
        bootstrap=params.bootstrap,
        seed=params.seed,
        scale=params.scale,
    )
    write_table(fits, "published_delta", snakemake.output.fits, {"seed": params.seed})
    write_table(gains, "reading_gains", snakemake.output.gains)
