"""What finished jobs used (Snakemake's benchmark files) against what they had asked for."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path

import pandas as pd

from lingprob.plan.jobs import PlannedJob

TOO_LITTLE, TOO_MUCH = 0.8, 0.2  # shares of what was asked for that are marked
LEAST_SECONDS = 60  # jobs that took less say nothing about speeds, for they mostly started


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
        expected: the seconds that a job was expected to take.
    """
    found: dict[str, list[tuple[PlannedJob, float, float]]] = {}
    for job in jobs:
        if not job.to_do and job.benchmark and (read := read_benchmark(job.benchmark)):
            seconds, peak = read
            found.setdefault(job.rule, []).append((job, seconds, peak))
    return [_usage(rule, found[rule], expected) for rule in sorted(found)]


def usage_table(usage: Iterable[Usage]) -> pd.DataFrame:
    """Return a row a rule, also where there is none."""
    names = [part.name for part in fields(Usage)]
    return pd.DataFrame([vars(item) for item in usage], columns=names)


def read_benchmark(path: Path) -> tuple[float, float] | None:
    """Return seconds and the peak of memory (MB; 0 where a job was too short for it to be seen).

    None where there is no such file, or nothing in it.
    """
    if not path.is_file():
        return None
    with path.open(newline="", encoding="utf-8") as lines:
        rows = [*csv.DictReader(lines, delimiter="\t")]
    if not rows:
        return None
    peak = rows[-1]["max_rss"]
    return float(rows[-1]["s"]), float(peak) if peak not in ("-", "NA", "") else 0.0


def _usage(
    rule: str,
    used: list[tuple[PlannedJob, float, float]],
    expected: Callable[[PlannedJob], float],
) -> Usage:
    memory, time = max(used, key=_share_of_memory), max(used, key=_share_of_time)
    long = [(seconds, expected(job)) for job, seconds, _ in used if seconds >= LEAST_SECONDS]
    return Usage(
        rule,
        len(used),
        memory[0].asks["mem_mb"],
        memory[2],
        time[0].asks["runtime"],
        time[1] / 60,
        sum(took for took, _ in long) / sum(hoped for _, hoped in long) if long else None,
    )


def _share_of_memory(used: tuple[PlannedJob, float, float]) -> float:
    return used[2] / used[0].asks["mem_mb"]


def _share_of_time(used: tuple[PlannedJob, float, float]) -> float:
    return used[1] / used[0].asks["runtime"]


def known_factors(usage: Iterable[Usage], before: Mapping[str, float]) -> dict[str, float]:
    """Return the factors of earlier runs with those that this one tells in their place."""
    told = {item.rule: item.factor for item in usage if item.factor is not None}
    return dict(sorted({**before, **told}.items()))
