"""The plan of a run: jobs, hours, memory, downloads and disk by paper and in all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from lingprob.plan.jobs import PlannedJob, behind
from lingprob.plan.schedule import Task, duration, time_left

# So many GPUs (or, where no job wants one, cores) the time is told for.
MACHINES = (1, 4, 16, 64)
JOBS, DOWNLOADS = 100, 4  # at one time, as profiles/slurm has them
TRANSIENT = ("scan_corpus",)  # rules whose jobs let go of what they fetch


@dataclass(frozen=True)
class Forecast:
    """What is still to be run for one target; hours are expected ones, `asks` what jobs ask for.

    `hours_on` maps a number of GPUs (cores, if `unit` says so) to the hours until all is done;
    `critical_hours` is what no machine, however large, falls below.
    """

    target: str
    jobs: int
    gpu_hours: float
    core_hours: float
    largest_memory_mb: int
    longest_job: str
    longest_job_hours: float
    longest_ask_hours: float
    download_gb: float
    disk_gb: float
    critical_hours: float
    unit: str
    hours_on: Mapping[int, float]

    def row(self) -> dict[str, Any]:
        """Return it as a row of a table."""
        machine = {f"hours_on_{n}_{self.unit}": hours for n, hours in self.hours_on.items()}
        return {**{k: v for k, v in vars(self).items() if k not in ("unit", "hours_on")}, **machine}


def forecast(
    jobs: Sequence[PlannedJob], targets: Sequence[str], expected: Mapping[int, float]
) -> list[Forecast]:
    """Return what is still to be run for each target; what two targets share counts in both.

    Args:
        jobs: of a whole run, with a target rule's own among them.
        targets: rules.
        expected: seconds on the threads that it asks for, by the number of a job.
    """
    # One unit for all targets, so that their numbers stand in one column.
    unit = "gpus" if any(job.asks["gpu"] for job in jobs if job.to_do) else "cores"
    return [_forecast(target, behind(jobs, target), expected, unit) for target in targets]


def _forecast(
    target: str, jobs: Sequence[PlannedJob], expected: Mapping[int, float], unit: str
) -> Forecast:
    jobs = [job for job in jobs if job.to_do]
    longest = max(jobs, key=lambda job: expected[job.number], default=None)
    fetched = [job.asks["disk_mb"] for job in jobs if job.asks["download"]]
    kept = [job.asks["disk_mb"] for job in jobs if job.rule not in TRANSIENT]
    passing = sorted(job.asks["disk_mb"] for job in jobs if job.rule in TRANSIENT)
    return Forecast(
        target,
        len(jobs),
        sum(expected[job.number] * job.asks["gpu"] for job in jobs) / 3600,
        sum(expected[job.number] * job.threads for job in jobs) / 3600,
        max((job.asks["mem_mb"] for job in jobs), default=0),
        longest.name if longest else "",
        expected[longest.number] / 3600 if longest else 0.0,
        max((job.asks["runtime"] for job in jobs), default=0) / 60,
        sum(fetched) / 1000,
        (sum(kept) + sum(passing[-DOWNLOADS:])) / 1000,
        max(time_left(_tasks(jobs, expected)), default=0.0) / 3600,
        unit,
        {
            n: duration(_tasks(jobs, expected, n), {unit: n, "jobs": JOBS, "downloads": DOWNLOADS})
            / 3600
            for n in MACHINES
        },
    )


def _tasks(
    jobs: Sequence[PlannedJob], expected: Mapping[int, float], cores: int | None = None
) -> list[Task]:
    """Jobs as tasks; where cores are few, a job has fewer threads than it asks for, and takes as
    much longer."""
    places = {job.number: place for place, job in enumerate(jobs)}
    threads = {job.number: min(job.threads, cores or job.threads) for job in jobs}
    return [
        Task(
            # A GPU's work is not the threads'.
            expected[job.number] * (1 if job.asks["gpu"] else job.threads / threads[job.number]),
            {
                "gpus": job.asks["gpu"],
                "cores": threads[job.number],
                "jobs": 1,
                "downloads": job.asks["download"],
            },
            frozenset(places[other] for other in job.waits_for if other in places),
        )
        for job in jobs
    ]


def jobs_table(jobs: Sequence[PlannedJob], expected: Mapping[int, float]) -> pd.DataFrame:
    """Return a row a job: what it asks for, and the seconds that it is expected to take."""
    return pd.DataFrame(
        {
            "rule": job.rule,
            "job": job.name,
            "to_do": job.to_do,
            **job.asks,
            "threads": job.threads,
            "expected_seconds": expected[job.number],
        }
        for job in jobs
    )
