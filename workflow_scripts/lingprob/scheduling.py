"""Keeps Snakemake's main process idle while its jobs work."""

from __future__ import annotations

import threading
from typing import Any


def reevaluate_one_at_a_time(scheduler: Any) -> None:
    """Let one reevaluation of the ready jobs wait at a time.

    After each round of selecting jobs, Snakemake 9 has another one begin when the span of its
    limit of jobs a second is over. So every finished job adds a chain of rounds that never ends:
    after some hundred jobs the main process takes half a core, here or on a login node. With one
    waiting there are as many rounds as finished jobs and one more a span.

    Args:
        scheduler: Snakemake's JobScheduler.
    """
    lock, waiting = threading.Lock(), threading.Event()

    def ring() -> None:
        waiting.clear()
        scheduler._open_jobs.release()

    def schedule(delay: float) -> None:
        with lock:
            if waiting.is_set():
                return
            waiting.set()
        timer = threading.Timer(delay, ring)
        timer.daemon = True  # the run may end before
        timer.start()

    scheduler._schedule_reevalutation = schedule
