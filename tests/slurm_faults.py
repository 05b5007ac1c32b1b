"""Faults that befall jobs of a run on SLURM, each when its job has come so far as a test wants."""

import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

PAUSE = 0.1


@dataclass
class Fault:
    """A fault of the first job of a rule that has this number of finished parts.

    `parts` is a pattern in the run's folder. Parts that were there before are watched until the
    end. If one changes, it was computed again.
    """

    rule: str
    strike: Callable[[str], None]  # takes the SLURM job's id
    parts: str = ""
    at_least: int = 0
    job: str = ""
    kept: dict[Path, int] = field(default_factory=dict)  # parts and when they were written
    computed_again: set[Path] = field(default_factory=set)

    def watch(self, folder: Path, running: dict[int, str]) -> None:
        """Strike if it is time, or look at the parts that were finished before."""
        if self.job:
            times = {path: written(path) for path in self.kept}
            self.computed_again |= {p for p, time in times.items() if time not in (0, self.kept[p])}
            return
        for pid in [pid for pid, line in running.items() if f".{self.rule}.py" in line]:
            found = {path: written(path) for path in folder.glob(self.parts or "none")}
            job = variable(pid, "SLURM_JOB_ID")
            if job and len(found) >= self.at_least:
                self.job, self.kept = job, found
                self.strike(job)
                return


class Faults(threading.Thread):
    """Watches a run in its folder until it has ended."""

    def __init__(self, folder: Path, faults: list[Fault]) -> None:
        super().__init__(daemon=True)
        self.folder, self.faults, self.over = folder, faults, threading.Event()

    def run(self) -> None:
        while not self.over.wait(PAUSE):
            running = processes(f"{self.folder}/.snakemake/scripts/")
            for fault in self.faults:
                fault.watch(self.folder, running)

    def end(self) -> None:
        """Stop watching."""
        self.over.set()
        self.join()


def written(path: Path) -> int:
    """Return the time at which a file was written, or 0 if it is gone."""
    try:
        return path.stat().st_mtime_ns
    except FileNotFoundError:
        return 0


def processes(word: str = "") -> dict[int, str]:
    """Command lines with a word in them, by the processes' ids."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:  # it has ended
            continue
        if word in line:
            found[int(folder.name)] = line
    return found


def variable(pid: int, name: str) -> str:
    """Return a variable of a process's environment, or an empty text."""
    try:
        entries = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return ""
    return next((e.partition("=")[2] for e in entries if e.startswith(f"{name}=")), "")


def of_job(job: str) -> list[int]:
    """The processes that run in a SLURM job."""
    return [pid for pid in processes() if variable(pid, "SLURM_JOB_ID") == job]


def send(pids: Iterable[int], number: signal.Signals) -> None:
    """Signal processes, some of which may have ended."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def scontrol(*arguments: str) -> str:
    """Return the output of a command, empty if SLURM no longer knows the job or node."""
    return subprocess.run(["scontrol", *arguments], capture_output=True, text=True).stdout


def cancel(job: str) -> None:
    """As a user or an administrator does."""
    subprocess.run(["scancel", job], check=True)


def run_out_of_time(job: str) -> None:
    """Let the job hang, and its time be a minute."""
    send(of_job(job), signal.SIGSTOP)
    scontrol("update", f"jobid={job}", "timelimit=1")


def run_out_of_memory(job: str) -> None:
    """Kill the computing process, as the kernel does."""
    computing = processes(".snakemake/scripts/")
    send([pid for pid in of_job(job) if pid in computing], signal.SIGKILL)


def requeue(job: str) -> None:
    """Requeue the job, as a job of a higher priority does."""
    send(of_job(job), signal.SIGSTOP)  # or it would end meanwhile
    scontrol("requeue", job)


class LostNode:
    """Ends a job's node with all that runs there, and starts the node again when SLURM noticed.

    For clusters of `start_slurm.sh`, whose nodes are daemons on this machine.
    """

    def __init__(self) -> None:
        self.daemons: list[subprocess.Popen] = []

    def __call__(self, job: str) -> None:
        node = re.search(r" NodeList=(\S+)", scontrol("show", "job", job))[1]
        pid_file = Path(os.environ["SLURM_CONF"]).parent / f"slurmd.{node}.pid"
        steps = processes(f"slurmstepd: [{job}.")
        send([int(pid_file.read_text()), *steps, *of_job(job)], signal.SIGKILL)
        while "State=DOWN" not in scontrol("show", "node", node):
            time.sleep(0.5)
        command = ["slurmd", "-D", "-N", node]
        daemon = subprocess.Popen(
            command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.daemons.append(daemon)

    def end(self) -> None:
        """End the daemons that were started in the place of killed ones."""
        for daemon in self.daemons:
            daemon.terminate()
            daemon.wait()
