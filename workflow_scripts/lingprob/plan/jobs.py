"""The jobs of a run, as Snakemake's own dry run has them: nothing is guessed of which there are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# Of a job that states none: what the profiles give it; of disk nothing that counts.
UNSTATED = {"mem_mb": 2000, "runtime": 30, "disk_mb": 0, "gpu": 0, "download": 0}


@dataclass(frozen=True)
class PlannedJob:
    """A job: what it asks for (MB, minutes), whether it is to be run, and what it waits for."""

    number: int
    rule: str
    wildcards: Any
    asks: Mapping[str, int]
    threads: int
    to_do: bool
    benchmark: Path | None
    waits_for: frozenset[int] = field(default_factory=frozenset)

    @property
    def name(self) -> str:
        """The rule and its wildcards."""
        return " ".join([self.rule, *map(str, self.wildcards)])


def read_jobs(
    snakefile: Path, config: Mapping[str, Any], targets: Sequence[str]
) -> list[PlannedJob]:
    """Return all jobs behind some target rules, those that are done included, the targets too.

    Args:
        snakefile: of the workflow.
        config: the configuration as Snakemake has it, files and command line together.
        targets: names of rules without wildcards.

    Resources are those of a first attempt.
    """
    from snakemake.api import SnakemakeApi
    from snakemake.settings import types

    # As the profiles have them.
    triggers = types.RerunTrigger.all() - {types.RerunTrigger.CODE}
    with SnakemakeApi(types.OutputSettings(quiet={types.Quietness.ALL})) as api:
        workflow = api.workflow(
            # So many cores that no job's threads are cut.
            resource_settings=types.ResourceSettings(cores=1000),
            config_settings=types.ConfigSettings(config=dict(config)),
            snakefile=snakefile,
        )
        settings = types.DAGSettings(targets=set(targets), rerun_triggers=triggers)
        workflow.dag(settings).execute_workflow(executor="dryrun")
        graph = workflow._workflow.dag
        to_do = set(graph.needrun_jobs(exclude_finished=False))
        numbers = {job: number for number, job in enumerate(graph.jobs)}
        return [
            PlannedJob(
                number,
                job.rule.name,
                job.wildcards,
                {key: int(job.resources.get(key, usual)) for key, usual in UNSTATED.items()},
                job.threads,
                job in to_do,
                Path(str(job.benchmark)) if job.benchmark else None,
                frozenset(numbers[other] for other in graph.dependencies[job]),
            )
            for job, number in numbers.items()
        ]


def behind(jobs: Sequence[PlannedJob], target: str) -> list[PlannedJob]:
    """Return the jobs that a target rule waits for, directly or not, without the rule itself."""
    (start,) = [job.number for job in jobs if job.rule == target]
    by_number = {job.number: job for job in jobs}
    found: set[int] = set()
    pending: Iterable[int] = by_number[start].waits_for
    while pending:
        found |= set(pending)
        pending = {other for one in pending for other in by_number[one].waits_for} - found
    return [job for job in jobs if job.number in found]
