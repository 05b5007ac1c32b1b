"""What the jobs of one model took, by Snakemake's benchmarks of them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

SUFFIX = ".benchmark.tsv"


def cost_of(model: str, logs: Path) -> str:
    """Return a sentence on the benchmarked jobs that a model has in a folder of logs; "" of none.

    A job is a model's if a folder on its benchmark's path, or the file, is named after it.
    """
    jobs = [
        pd.read_csv(path, sep="\t").tail(1)
        for path in sorted(logs.rglob(f"*{SUFFIX}"))
        if model in (*path.relative_to(logs).parts[:-1], path.name.removesuffix(SUFFIX))
    ]
    if not jobs:
        return ""
    used = pd.concat(jobs)
    # A job that was too short for its memory to be seen has none.
    largest = pd.to_numeric(used["max_rss"], errors="coerce").max()
    return (
        f"{len(used)} jobs of this model took {used['s'].sum() / 60:,.1f} minutes, loading it "
        f"included, and at most {largest:,.0f} MB of memory."
    )
