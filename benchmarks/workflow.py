"""Time of a finished run by rule and target: work, idle cores, longest chain of jobs.

    python benchmarks/workflow.py [LOG] [--before LOG]

LOG is Snakemake's log of a run, by default the newest in .snakemake/log with a finished job. The
time of a job is from its start to its end there. If its benchmark file exists, `worked` is the time
in that file, and the rest is start-up and waiting for the main process. The minutes of a target
assume that its jobs keep all cores busy. Jobs that two targets need count for both. A chain goes
back from the last job through its latest input. `--before` adds the seconds of another run.
"""

import argparse
import re
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pandas as pd

LOGS = Path(".snakemake/log")
STAMP = re.compile(r"^\[(\w{3} \w{3} +\d+ [\d:]+ \d{4})\]$")
START = re.compile(r"^(?:local)?(?:rule|checkpoint) (\w+):$")
DETAIL = re.compile(r"^    (input|output|benchmark|jobid|threads): (.*)$")
END = re.compile(r"^Finished jobid: (\d+) \(Rule: \w+\)$")
CORES = re.compile(r"^Provided cores: (\d+)")
TRAININGS = ("train_model", "fine_tune_model")


@dataclass
class Job:
    """A job of a log, in seconds since the log's first stamp. `worked` needs its benchmark."""

    rule: str
    began: float
    ended: float | None = None
    input: list[str] = field(default_factory=list)
    output: list[str] = field(default_factory=list)
    threads: int = 1
    worked: float | None = None

    @property
    def seconds(self) -> float:
        """Return the seconds from start to end, or 0 for a job that has not ended."""
        return 0.0 if self.ended is None else self.ended - self.began


def read_log(path: Path, folder: Path = Path()) -> tuple[list[Job], int]:
    """Return the jobs of a log that ended, and the cores that they had.

    Args:
        path: of the log.
        folder: that the run's paths are relative to.
    """
    jobs: dict[str, Job] = {}
    cores, now, first = 1, 0.0, None
    job: Job | None = None
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        if found := CORES.match(line):
            cores = int(found[1])
        elif found := STAMP.match(line):
            then = datetime.strptime(found[1], "%a %b %d %H:%M:%S %Y").timestamp()
            first = then if first is None else first
            now, job = then - first, None
        elif found := START.match(line):
            job = Job(found[1], now)
        elif (found := DETAIL.match(line)) and job:
            key, value = found.groups()
            if key == "jobid":
                jobs[value] = job
            elif key == "threads":
                job.threads = int(value)
            elif key == "benchmark":
                job.worked = _measured(folder / value)
            else:
                setattr(job, key, value.split(", "))
        elif (found := END.match(line)) and found[1] in jobs:
            jobs[found[1]].ended = now
    return [one for one in jobs.values() if one.ended is not None], cores


def _measured(path: Path) -> float | None:
    return float(pd.read_csv(path, sep="\t")["s"].iloc[-1]) if path.is_file() else None


def by_rule(jobs: list[Job]) -> pd.DataFrame:
    """Return jobs, seconds, those of the longest job, and its measured work, by rule."""
    table = pd.DataFrame([
        {"rule": job.rule, "seconds": job.seconds, "worked": job.worked} for job in jobs
    ])  # fmt: skip
    found = table.groupby("rule").agg(
        jobs=("seconds", "size"),
        seconds=("seconds", "sum"),
        longest=("seconds", "max"),
        worked=("worked", lambda values: values.sum(min_count=len(values))),
    )
    return found.sort_values("seconds", ascending=False)


def by_target(jobs: list[Job], cores: int) -> pd.DataFrame:
    """Return jobs, minutes, and minutes of training, for each target with a scorecard.

    A target's jobs are those with a file directly in the scorecard's folder, and all before them.
    """
    maker = {path: job for job in jobs for path in job.output}
    folders = {
        Path(path).parent for job in jobs if job.rule.startswith("report_") for path in job.output
    }
    rows = []
    for folder in sorted(folders):
        needed: dict[int, Job] = {}
        waiting = [job for path, job in maker.items() if Path(path).parent == folder]
        while waiting:
            job = waiting.pop()
            if id(job) not in needed:
                needed[id(job)] = job
                waiting += [maker[path] for path in job.input if path in maker]
        minutes = {
            id(job): job.seconds * min(job.threads, cores) / cores / 60 for job in needed.values()
        }
        trained = sum(minutes[id(job)] for job in needed.values() if job.rule in TRAININGS)
        rows.append((folder.name, len(needed), sum(minutes.values()), trained))
    columns = ["target", "jobs", "minutes", "of them trainings"]
    return pd.DataFrame(rows, columns=columns).set_index("target")


def longest_chain(jobs: list[Job]) -> list[Job]:
    """Return the jobs that the last one waited for, each for the input that came last."""
    maker = {path: job for job in jobs for path in job.output}
    chain = [max(jobs, key=lambda job: job.ended or 0.0)]
    while before := {id(maker[path]): maker[path] for path in chain[0].input if path in maker}:
        chain.insert(0, max(before.values(), key=lambda job: job.ended or 0.0))
    return chain


def main() -> None:
    """Print the tables, the idle share of the cores and the chain."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("log", nargs="?", type=Path, help="a log; by default the newest with a job")
    parser.add_argument("--before", type=Path, help="the log of another run, to compare with")
    options = parser.parse_args()
    logs = [options.log] if options.log else sorted(LOGS.glob("*.log"), reverse=True)
    runs = (read_log(log) for log in logs if log.is_file())
    jobs, cores = next((run for run in runs if run[0]), ([], 1))
    if not jobs:
        where = options.log or LOGS
        parser.error(f"no finished job in {where}: run the workflow first, or name its log")
    table = by_rule(jobs)
    if options.before:
        table["before"] = by_rule(read_log(options.before)[0])["seconds"]
    print(table.to_string(float_format=lambda value: f"{value:,.0f}", na_rep=""))
    targets = by_target(jobs, cores)
    if len(targets):
        print(f"\n{targets.to_string(float_format='{:.1f}'.format)}")
    whole = max(job.ended or 0.0 for job in jobs) - min(job.began for job in jobs)
    used = sum(job.seconds * min(job.threads, cores) for job in jobs)
    idle = max(0.0, 1 - used / whole / cores)
    print(f"\n{whole:,.0f} s in all on {cores} cores, {idle:.0%} idle")
    chain = longest_chain(jobs)
    print(f"longest chain, {sum(job.seconds for job in chain):,.0f} s of work:")
    for job in chain:
        print(f"  {job.began:8,.0f} s  {job.rule} ({job.seconds:,.0f} s)")


if __name__ == "__main__":
    main()
