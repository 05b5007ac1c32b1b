"""What finished jobs used (Snakemake's benchmark files) against what they had asked for."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lingprob.plan.jobs import PlannedJob
from lingprob.plan.pace import LEAST_SECONDS

TOO_LITTLE, TOO_MUCH = 0.8, 0.2  # shares of what was asked for that are marked


class Benchmark(NamedTuple):
    """What a job took: by the clock, of all cores together, and its peak of memory."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True)
class Usage:
    """What the finished jobs of a rule asked for and used: the largest of each over its jobs.

    `factor` is what they took in all to what they were expected to, None where the rule's jobs
    were too short to tell.
    """

    rule: str
    jobs: int
    asked_mb: float
    used_mb: float
    asked_minutes: float
    used_minutes: float
    factor: float | None

    @property
    def marks(self) -> str:
        """What is out of bounds, in words; empty where nothing is."""
        shares = {
            "memory": self.used_mb / self.asked_mb,
            "time": self.used_minutes / self.asked_minutes,
        }
        return ", ".join(
            f"{what} {share:.0%}"
            for what, share in shares.items()
            if not TOO_MUCH <= share <= TOO_LITTLE
        )


def read_usage(jobs: Iterable[PlannedJob], expected: Callable[[PlannedJob], float]) -> list[Usage]:
    """Return what each rule's finished jobs used, rules in alphabetical order.

    Args:
        jobs: those with a benchmark file that is there count.
        expected: the seconds that a job was expected to take on the threads that it asks for.
    """
    found: dict[str, list[tuple[PlannedJob, Benchmark]]] = {}
    for job in jobs:
        if not job.to_do and job.benchmark and (read := read_benchmark(job.benchmark)):
            found.setdefault(job.rule, []).append((job, read))
    return [_usage(rule, found[rule], expected) for rule in sorted(found)]


def usage_table(usage: Iterable[Usage]) -> pd.DataFrame:
    """Return a row a rule, also where there is none."""
    names = [part.name for part in fields(Usage)]
    return pd.DataFrame([vars(item) for item in usage], columns=names)


def read_benchmark(path: Path) -> Benchmark | None:
    """Return what Snakemake's benchmark file says; None where there is none, or nothing in it.

    A job that was too short for its memory or its CPU time to be seen has 0 for them.
    """
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [*csv.DictReader(lines, delimiter="\t")]
    if not rows:
        return None
    seen = {"-": "0", "NA": "0", "": "0"}
    columns = (rows[-1][name] for name in ("s", "cpu_time", "max_rss"))
    return Benchmark(*(float(seen.get(value, value)) for value in columns))


def _usage(
    rule: str,
    used: list[tuple[PlannedJob, Benchmark]],
    expected: Callable[[PlannedJob], float],
) -> Usage:
    memory, time = max(used, key=_share_of_memory), max(used, key=_share_of_time)
    long = [
        (_at_its_threads(job, read), expected(job))
        for job, read in used
        if read.seconds >= LEAST_SECONDS
    ]
    return Usage(
        rule,
        len(used),
        memory[0].asks["mem_mb"],
        memory[1].peak_mb,
        time[0].asks["runtime"],
        time[1].seconds / 60,
        sum(took for took, _ in long) / sum(hoped for _, hoped in long) if long else None,
    )


def _at_its_threads(job: PlannedJob, read: Benchmark) -> float:
    """Return the seconds that a job takes on the threads that it asks for: it may have had fewer,
    and a GPU's work is not theirs."""
    several = job.threads > 1 and not job.asks["gpu"]
    return read.cpu_seconds / job.threads if several else read.seconds


def _share_of_memory(used: tuple[PlannedJob, Benchmark]) -> float:
    return used[1].peak_mb / used[0].asks["mem_mb"]


def _share_of_time(used: tuple[PlannedJob, Benchmark]) -> float:
    return used[1].seconds / 60 / used[0].asks["runtime"]


def known_factors(usage: Iterable[Usage], before: Mapping[str, float]) -> dict[str, float]:
    """Return the factors of earlier runs with those that this one tells in their place."""
    told = {item.rule: item.factor for item in usage if item.factor is not None}
    return dict(sorted({**before, **told}.items()))
