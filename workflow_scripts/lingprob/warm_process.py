"""A process that has the large libraries loaded, and forks itself for each job that is asked for.

    python warm_process.py SOCKET

It is run by its path and imports nothing of this package: a job does, so that each one runs the
code as it is then. `warm_starts` asks it, with a message a job: the job's script, folder and
environment as JSON, and a socket that belongs to the job. There it answers with the job's process,
waits for a byte before the job begins, and tells its exit status at its end. When the asking
process is gone, so is this one; jobs that have begun go on, as any other process of Snakemake's.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import runpy
import select
import signal
import socket
import sys
import threading
import traceback
import warnings
from contextlib import suppress
from typing import NoReturn

MESSAGE_BYTES = 1 << 20
# What jobs load most, and what transformers loads as soon as a model is built or runs.
PRELOADED = (
    "snakemake.iocontainers",
    "snakemake.logging",
    "numpy",
    "pandas",
    "pyarrow.parquet",
    "scipy.stats",
    "scipy.optimize",
    "matplotlib.pyplot",
    "torch",
    "tokenizers",
    "transformers",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.gpt_neox.modeling_gpt_neox",
    "transformers.models.llama.modeling_llama",
    "transformers.generation.utils",
    "torch._dynamo",
    "torch.distributed.tensor",
)


def serve(asking: socket.socket) -> str | None:
    """Fork for each message; returns the script in a forked process, None when nobody asks more."""
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupted run ends its jobs, then this
    # Of a library's idle threads, which it ends and begins anew around a fork.
    warnings.filterwarnings("ignore", ".*multi-threaded", DeprecationWarning)
    jobs: dict[int, socket.socket] = {}
    while True:
        ready, _, _ = select.select([asking.fileno(), woken], [], [])
        if woken in ready:
            os.read(woken, 4096)
            tell_ended(jobs)
        if asking.fileno() in ready:
            try:
                message, sockets, _, _ = socket.recv_fds(asking, MESSAGE_BYTES, 1)
            except ConnectionResetError:
                return None
            if not message:
                return None
            job = socket.socket(fileno=sockets[0])
            try:
                pid = os.fork()
            except OSError:  # no memory or process to be had: the job is not begun here
                job.close()
                continue
            if pid == 0:
                for one in (asking, *jobs.values()):
                    one.close()
                os.close(woken)
                os.close(wake)
                return begin(json.loads(message), job)
            jobs[pid] = job


def tell_ended(jobs: dict[int, socket.socket]) -> None:
    """Tell the exit status of each process that has ended."""
    while True:
        pid, status = os.waitpid(-1, os.WNOHANG) if jobs else (0, 0)
        if pid == 0:
            return
        with jobs.pop(pid) as job, suppress(OSError):  # who asked may be gone
            job.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def begin(asked: dict[str, object], job: socket.socket) -> str:
    """Become the job's process: return its script when the job may begin."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    script = str(asked["script"])
    os.environ.clear()
    os.environ.update(asked["environment"])  # type: ignore[call-overload]
    os.chdir(str(asked["folder"]))
    sys.argv[:] = [script]
    sys.path.insert(0, os.path.dirname(script))
    with job:
        job.sendall(f"{os.getpid()}\n".encode())
        if not job.recv(1):
            os._exit(1)  # who asked is gone
    return script


def run(script: str) -> NoReturn:
    """Run a script as Python does, and end without taking down what was only loaded (.3 s)."""
    status: object = 1
    try:
        runpy.run_path(script, run_name="__main__")
        status = 0
    except SystemExit as ended:
        status = ended.code
        if not (status is None or isinstance(status, int)):
            print(status, file=sys.stderr)
            status = 1
    except BaseException:
        traceback.print_exc()
    finally:
        for thread in set(threading.enumerate()) - {threading.current_thread()}:
            if not thread.daemon:
                thread.join()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(int(status or 0))  # type: ignore[call-overload]


if __name__ == "__main__":
    ours = socket.socket(fileno=int(sys.argv[1]))
    for name in PRELOADED:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # a fork copies no page for the collector's sake
    with suppress(BrokenPipeError):  # the run has ended before
        ours.send(b"ready")
    if script := serve(ours):
        run(script)
