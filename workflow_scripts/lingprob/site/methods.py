"""What the page of methods shows: what went into a run, and what the run took."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

import lingprob
from lingprob.profiles.cost import SUFFIX

PACKAGES = ("numpy", "scipy", "pandas", "pyarrow", "statsmodels", "numba", "torch", "transformers",
            "tokenizers", "spacy", "matplotlib", "snakemake")  # fmt: skip


def methods(facts: Mapping[str, Any], models: Sequence[str], logs: Path) -> dict[str, Any]:
    """Return what the page of methods shows.

    Args:
        facts: of `facts.run_facts`.
        models: names of those that numbers are of.
        logs: the run's folder of logs, where Snakemake's benchmarks lie.
    """
    known = facts["models"]
    return {
        **{key: facts[key] for key in ("seed", "datasets", "conventions")},
        "models": {name: known[name] | _precision(known[name], facts["dtype"])
                   for name in models if name in known},
        "versions": {"lingprob": lingprob.__version__, "Python": platform.python_version(),
                     **{name: version(name) for name in PACKAGES}},
        "cost": cost_by_rule(logs).to_dict("records"),
    }  # fmt: skip


def cost_by_rule(logs: Path) -> pd.DataFrame:
    """Return what benchmarked jobs took, a row a rule, the longest first.

    Returns:
        Columns rule, jobs, minutes (of wall time), cpu_minutes and memory_mb (the largest).
    """
    jobs = []
    for path in sorted(logs.rglob(f"*{SUFFIX}")):
        rule = path.relative_to(logs).parts[0].removesuffix(SUFFIX)
        last = pd.read_csv(path, sep="\t", na_values="-").tail(1)
        jobs.append(last.assign(rule=rule))
    if not jobs:
        return pd.DataFrame(columns=["rule", "jobs", "minutes", "cpu_minutes", "memory_mb"])
    grouped = pd.concat(jobs).groupby("rule")
    table = pd.DataFrame(
        {
            "jobs": grouped.size(),
            "minutes": grouped["s"].sum() / 60,
            "cpu_minutes": grouped["cpu_time"].sum() / 60,
            "memory_mb": grouped["max_rss"].max(),
        }
    )
    return table.sort_values("minutes", ascending=False, kind="stable").reset_index()


def _precision(entry: Mapping[str, Any], asked: str) -> dict[str, str]:
    """Return the number format of a model's weights: what is asked for, or its own by device."""
    own = entry.get("dtype", {})
    by_device = ", ".join(f"{dtype} ({device})" for device, dtype in own.items())
    return {"dtype": by_device if asked == "auto" else asked}
