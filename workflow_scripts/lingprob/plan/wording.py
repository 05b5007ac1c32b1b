"""The plan of a run in words, for a terminal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from lingprob.plan.forecast import DOWNLOADS, JOBS, Forecast
from lingprob.plan.usage import TOO_LITTLE, TOO_MUCH, Usage


def describe(
    forecasts: Sequence[Forecast],
    usage: Sequence[Usage],
    factors: Mapping[str, float],
    sources: Sequence[str],
    left_out: Sequence[str],
    *,
    scale: str,
) -> str:
    """Return the plan as a text to be read in a terminal.

    Args:
        forecasts: one a target, the whole last.
        usage: of finished jobs.
        factors: by rule, what corrects the expected times on this machine.
        sources: what the speeds rest on, a line each.
        left_out: what is missing and how to get it, a line each.
        scale: of the run.
    """
    unit = {"gpus": "GPUs", "cores": "cores"}[forecasts[-1].unit]
    head = ["", "jobs", "GPU h", "core h", "memory", "longest", "asked", "download", "disk"]
    head += [f"{n} {unit}" for n in forecasts[-1].hours_on] + ["critical"]
    rows = [[item.target, *_cells(item)] for item in forecasts]
    parts = [
        f"What is still to be run at scale {scale}, expected; time in h:",
        _table([head, *rows]),
        f"The longest job is {forecasts[-1].longest_job or 'none'}. `asked` is the most that a job "
        "asks for, `disk` the most that downloads take of it. The last columns say when all is "
        f"done with so many {unit}, {JOBS} jobs and {DOWNLOADS} downloads at a time (never: a job "
        "wants more); `critical` is the longest chain of jobs.",
        "Speeds:\n" + "\n".join(f"  {line}" for line in sources),
    ]
    if factors:
        parts.append(
            "Corrected by what jobs took here: "
            + ", ".join(f"{rule} x {factor:.2g}" for rule, factor in factors.items())
        )
    parts.append("Missing:\n" + "\n".join(f"  {line}" for line in left_out or ["nothing"]))
    if usage:
        parts.append(
            "Finished jobs, the largest shares of what they asked for (marked: below "
            f"{TOO_MUCH:.0%} or above {TOO_LITTLE:.0%}):\n{_usage(usage)}"
        )
    return "\n\n".join(parts) + "\n"


def _cells(item: Forecast) -> list[str]:
    hours = [*item.hours_on.values(), item.critical_hours]
    return [
        f"{item.jobs:,}",
        _number(item.gpu_hours),
        _number(item.core_hours),
        f"{_number(item.largest_memory_mb / 1000)} GB",
        f"{_number(item.longest_job_hours)} h",
        f"{_number(item.longest_ask_hours)} h",
        f"{_number(item.download_gb)} GB",
        f"{_number(item.disk_gb)} GB",
        *map(_number, hours),
    ]


def _usage(usage: Sequence[Usage]) -> str:
    head = ["rule", "jobs", "MB asked", "MB used", "min asked", "min used", "marked"]
    rows = [
        [
            item.rule,
            str(item.jobs),
            f"{item.asked_mb:,.0f}",
            f"{item.used_mb:,.0f}",
            f"{item.asked_minutes:,.0f}",
            f"{item.used_minutes:,.1f}",
            item.marks,
        ]
        for item in usage
    ]
    return _table([head, *rows])


def _number(value: float) -> str:
    """Two digits, and no places where there are more before the point."""
    if math.isinf(value):
        return "never"
    return f"{value:,.0f}" if value >= 10 or value == 0 else f"{value:.2g}"


def _table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
