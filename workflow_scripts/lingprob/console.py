"""What a run prints: which jobs finished, a bar over the whole, warnings and errors in full.

`Console` takes the place of Snakemake's own handler of the terminal, from the Snakefile, so that
nothing need be installed for it. Snakemake's log file has every word as before, and so has the
terminal with --printshellcmds, --verbose, --quiet or a --logger. Read by the Snakefile, so it
imports nothing that only a job needs.
"""

from __future__ import annotations

import logging
import os
import re
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from snakemake.logging import ColorizingTextHandler, get_event, show_logs
from snakemake_interface_logger_plugins.common import LogEvent
from tqdm import tqdm

from lingprob.plan.pace import ExpectedJob, Pace
from lingprob.plan.work import USUAL_SECONDS
from lingprob.workflow import refusal

# What Snakemake tells that is of use only to who looks for a fault, and finds it in its log file.
CHATTER = (
    "Adding ",
    "Building DAG of jobs",
    "Conda environments: ignored",
    "Creating report",
    "Downloading resources and rendering HTML",
    "Elapsed time: ",
    "Execute ",
    "Job ",
    "Loading script code",
    "Removing output files of failed job",
    "Report created",
    "SLURM run ID",
    "Select jobs to execute",
    "Singularity containers: ignored",
    "Submitted array job",
    "Touching output file",
    "Using shell",
)
SILENT = {
    LogEvent.PROGRESS,
    LogEvent.RESOURCES_INFO,
    LogEvent.JOB_STARTED,
    LogEvent.SHELLCMD,
    LogEvent.WORKFLOW_STARTED,
}
SMALL_TOGETHER = 3  # jobs of no more than a start and small tables, on one line
FRAME = re.compile(r'  File ".*", line \d+, in ')
WITHIN = re.compile(r"^  WorkflowError:\n(.*?)^Wildcards:", re.DOTALL | re.MULTILINE)


class Console(ColorizingTextHandler):
    """Words Snakemake's records for a terminal, a pipe or a batch job's file."""

    def __init__(self, before: ColorizingTextHandler, dry: bool) -> None:
        """Write where `before` wrote, through its filters; a dry run is left in its words but for
        errors."""
        super().__init__(before.nocolor, before.stream, before.formatter)
        self.filters = before.filters
        self.dry = dry
        self.closing: Callable[[], Iterable[str]] = list
        self.names: dict[int, str] = {}
        self.jobs: Mapping[int, ExpectedJob] = {}
        self.failed: dict[int, tuple[str, str]] = {}  # what and, if the user can mend it, why
        self.done: set[int] = set()
        self.unsaid: list[str] = []  # small jobs that finished since the last line
        self.pace = Pace({}, 0.0)
        self.bar = tqdm(disable=True)

    def expect(self, jobs: Mapping[int, ExpectedJob]) -> None:
        """Begin the bar: what is expected of each job, by its number."""
        self.jobs, self.pace = jobs, Pace(jobs, time.monotonic())
        self.stream.write(f"Jobs: {len(jobs)}. What each one did is in logs/, by rule.\n")
        self.bar = tqdm(
            total=sum(job.work for job in jobs.values()),
            file=self.stream,
            disable=not self.is_tty,
            bar_format="{percentage:3.0f}% {bar} {elapsed} so far{postfix}",
            dynamic_ncols=True,
            leave=False,
        )

    def emit(self, record: Any) -> None:
        """Write a record's words above the bar."""
        if get_event(record) == LogEvent.JOB_INFO and not self.dry:
            self.names[record.jobid] = " ".join([record.rule_name, *record.wildcards.values()])
            self.pace.start(record.jobid, time.monotonic())
            return
        with tqdm.external_write_mode(file=self.stream):
            super().emit(record)

    def format(self, record: Any) -> str:
        """Return a record's words; none for what nobody reads."""
        event = get_event(record)
        if event == LogEvent.ERROR:
            return self._error(record.getMessage())
        if self.dry:
            return str(super().format(record))
        if event == LogEvent.JOB_FINISHED:
            return self._finished(record.job_id)
        if event == LogEvent.JOB_ERROR:
            return self._failure(record.jobid, record.rule_msg, record.log)
        if event in SILENT or event == LogEvent.RUN_INFO:
            return ""
        words = str(super().format(record))
        if self.failed and words.startswith("Exiting because a job execution failed"):
            return ""
        return "" if record.levelno == logging.INFO and words.startswith(CHATTER) else words

    def close(self) -> None:
        """End with what to open, or with the jobs that failed."""
        self.bar.close()
        lines = [*([self._line()] if self.unsaid else []), *self.closing()]
        if self.failed:
            lines += [f"Failed: {len(self.failed)} of the {len(self.jobs)} jobs."]
            for name, cause in self.failed.values():
                lines += [f"  {name}", *([f"    {cause}"] if cause else [])]
        self.closing, self.failed = list, {}  # Snakemake closes a handler more than once
        for line in lines:
            self.stream.write(f"{line}\n")
        super().close()

    def _finished(self, number: int) -> str:
        """A line for a job that took its time, or for a few small ones together; else none yet."""
        self.failed.pop(number, None)  # when it was tried again
        if number not in self.jobs:  # a target or another rule of no work
            return ""
        self.done.add(number)
        self.pace.finish(number, time.monotonic())
        self.bar.set_postfix_str(self._left(), refresh=False)
        self.bar.update(self.jobs[number].work)
        self.unsaid.append(self._called(number))
        small = self.jobs[number].seconds <= USUAL_SECONDS and len(self.unsaid) < SMALL_TOGETHER
        return "" if small and len(self.done) < len(self.jobs) else self._line()

    def _left(self) -> str:
        return f"{tqdm.format_interval(self.pace.left(time.monotonic())):>5} left"

    def _line(self) -> str:
        """The share of the expected work that is done, the time left, and what finished."""
        count = f"{len(self.done):{len(str(len(self.jobs)))}}/{len(self.jobs)}"
        clock, names = time.strftime("%H:%M:%S"), ", ".join(self.unsaid)
        self.unsaid = []
        return f"{clock}  {count} {self.pace.share:4.0%}  {self._left()}  {names}"

    def _called(self, number: int) -> str:
        return self.names.get(number, f"job {number}")

    def _failure(self, number: int, message: str | None, logs: list[str]) -> str:
        """What the user can mend, in one message; else what a cluster tells, and the logs."""
        self.pace.fail(number)
        name = f"{self._called(number)} ({', '.join(logs)})"
        said = next(filter(None, (refusal(Path(log)) for log in logs)), "")
        self.failed[number] = name, said.partition("\n")[0]
        whole = [*filter(None, [message]), *(line for log in logs for line in show_logs([log]))]
        return "\n".join(["", f"FAILED: {name}", *([said] if said else whole), ""])

    def _error(self, text: str) -> str:
        """An error of Snakemake's, without what another message has said."""
        ended = text.startswith("RuleException") and text.endswith("non-zero exit status 1.")
        at_the_end = self.failed and text.endswith("job did not complete successfully.")
        return "" if ended or at_the_end else one_message(text)


def one_message(text: str) -> str:
    """Return an error of Snakemake's; of one that the Snakefile raises its message alone."""
    if within := WITHIN.search(text):
        return textwrap.dedent(within[1]).strip()
    lines = text.splitlines()
    if lines and lines[0].startswith("WorkflowError") and any(map(FRAME.match, lines)):
        return "\n".join(line for line in lines[1:] if not FRAME.match(line))
    return text


def take_over(logger: logging.Logger, settings: Any) -> Console | None:
    """Put a Console in the place of Snakemake's handler of the terminal, and return it.

    Args:
        logger: Snakemake's.
        settings: Snakemake's OutputSettings. Where they ask for other words than usual, or where a
            logger plug-in writes to the terminal, nothing is done, and None returned.
    """
    asked = settings.printshellcmds or settings.verbose or settings.quiet or settings.debug_dag
    usual = [handler for handler in logger.handlers if handler.name == "DefaultStreamHandler"]
    if asked or not usual:
        return None
    os.environ["TQDM_DISABLE"] = "1"  # jobs have no bars beside this one
    console = Console(usual[0], settings.dryrun)
    logger.removeHandler(usual[0])
    logger.addHandler(console)
    return console


def report_file(since: float) -> list[str]:
    """Return words that name the report which Snakemake was asked for, if it was made `since`."""
    from snakemake.cli import get_argument_parser

    asked = get_argument_parser().parse_known_args()[0].report
    made = asked is not None and Path(asked).exists() and Path(asked).stat().st_mtime >= since
    return [f"all of it in one page: {asked}"] if made else []
