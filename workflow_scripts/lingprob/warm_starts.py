"""Starts a run's jobs from processes that have the large libraries loaded already.

A job is a process of its own, which by Snakemake's way loads Python, pandas and, with models, torch
and transformers before it does anything: one to five seconds, hundreds of times in a run. Here it
is forked from a process (`warm_process`) that loaded them once. Only libraries are loaded there,
nothing of this package, and there is one such process for each number of threads, since numerical
libraries take that from the environment when they are loaded: so a job finds what it would have
found.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from threading import Lock
from time import monotonic, sleep
from typing import Any

from snakemake.benchmark import benchmarked
from snakemake.logging import logger
from snakemake.script import PythonScript

SERVER = Path(__file__).with_name("warm_process.py")
# As Snakemake sets them for a job's command.
OF_THREADS = (
    "OMP_NUM_THREADS", "GOTO_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS",
)  # fmt: skip
OF_SCRATCH = ("TMPDIR", "TMP", "TEMPDIR", "TEMP")
WORTH_IT = 4  # cores' starts; a few are as quick by themselves
LONGEST_LOADING = 60.0  # seconds, after which a job starts by itself
# Where there is an NVIDIA, AMD or WSL GPU: its driver may be woken by an import, and does not
# survive a fork.
GPUS = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")


class WarmProcess:
    """A process that has the libraries loaded, and forks one for each job."""

    def __init__(self, environment: dict[str, str]) -> None:
        """Start it; it is of use when it has loaded everything."""
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.loaded, self.loading = False, Lock()
        atexit.register(self.close)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", str(SERVER), str(theirs.fileno())],
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, env=environment,
            )  # fmt: skip

    def is_ready(self) -> bool:
        """Whether it has loaded everything; it is not asked before."""
        with self.loading:
            if not self.loaded:
                try:
                    self.loaded = bool(self.socket.recv(8, socket.MSG_DONTWAIT))
                except OSError:  # nothing is told yet, or it is gone
                    return False
        return self.loaded and not self.is_gone()

    def comes_to_be_ready(self) -> bool:
        """Wait until it has loaded everything; return whether it has, in time and before its end.

        A job that began meanwhile would load the same libraries beside it, twice the work.
        """
        until = monotonic() + LONGEST_LOADING
        while not self.is_ready():
            if self.is_gone() or monotonic() > until:
                return False
            sleep(0.05)
        return True

    def is_gone(self) -> bool:
        """Whether it has ended, as one does that the system ran out of memory for."""
        return self.process.poll() is not None

    def close(self) -> None:
        """End it, loaded or not."""
        self.socket.close()
        self.process.terminate()
        self.process.wait()

    def run(self, script: str, environment: dict[str, str], record: Any) -> int | None:
        """Run a script to its end and return its exit status; None if it was not begun.

        `record` is Snakemake's benchmark of the job, if it has one.
        """
        asked = {"script": script, "folder": os.getcwd(), "environment": environment}
        ours, theirs = socket.socketpair()
        with ours, ours.makefile("r") as told:
            with theirs:
                try:
                    socket.send_fds(self.socket, [json.dumps(asked).encode()], [theirs.fileno()])
                except OSError:
                    return None
            process = told.readline()
            if not process:
                return None
            with benchmarked(int(process), record) if record is not None else nullcontext():
                ours.sendall(b"\n")
                return int(told.readline() or -9)  # no status: killed, and what it was forked from


def start_jobs_warm(threads: Iterable[int]) -> dict[int, WarmProcess]:
    """Have Snakemake's scripts run in forks of warm processes where that is possible.

    Elsewhere, and for jobs with a container, an environment or a folder of their own, they start as
    Snakemake starts them.

    Args:
        threads: of each job that is to be run.

    Returns:
        The processes by their number of threads.
    """
    warm: dict[int, WarmProcess] = {}
    if not sys.platform.startswith("linux") or any(map(os.path.exists, GPUS)):
        logger.info("Jobs load their libraries themselves: there is a GPU here, or no Linux.")
        return warm
    start_cold = PythonScript.execute_script

    def execute(self: Any, fname: str, edit: bool = False) -> None:
        own = (self.container_img, self.conda_env, self.env_modules, self.shadow_dir)
        process = warm.get(self.threads)
        if process and process.is_gone() and warm.pop(self.threads, None):
            logger.warning(
                f"Jobs of {self.threads} threads load their libraries themselves from now on: the "
                f"process that they were forked from ended with {process.process.returncode}."
            )
        status = None
        if process and not any(own) and process.comes_to_be_ready():
            environment = _environment(self.threads, self.resources.get("tmpdir"))
            status = process.run(os.path.abspath(fname), environment, self.bench_record)
        if status is None:
            start_cold(self, fname, edit)
        elif status:
            raise subprocess.CalledProcessError(status, [sys.executable, fname])

    PythonScript.execute_script = execute
    for count, jobs in Counter(threads).items():
        if jobs * count >= WORTH_IT:
            warm[count] = WarmProcess(_environment(count))
    return warm


def _environment(threads: int, scratch: str | None = None) -> dict[str, str]:
    """Return the environment that Snakemake gives a job's command."""
    environment = {**os.environ, **dict.fromkeys(OF_THREADS, str(threads))}
    return environment | dict.fromkeys(OF_SCRATCH, str(scratch)) if scratch else environment
