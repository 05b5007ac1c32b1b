"""Snakemake's rounds of selecting jobs do not multiply."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace

from snakemake.scheduling.job_scheduler import JobScheduler

from lingprob.scheduling import reevaluate_one_at_a_time

SPAN = 0.05


def rounds_in(seconds: float, scheduler: SimpleNamespace) -> int:
    """Count rounds that end as Snakemake's do, by having the ready jobs looked at once more."""
    deadline, rounds = time.monotonic() + seconds, 0
    while (left := deadline - time.monotonic()) > 0:
        if scheduler._open_jobs.acquire(timeout=left):
            rounds += 1
            scheduler._schedule_reevalutation(SPAN)
    return rounds


def test_finished_jobs_add_a_round_each_and_no_chain_of_them():
    scheduler = SimpleNamespace(_open_jobs=threading.Semaphore(0))
    reevaluate_one_at_a_time(scheduler)
    for _ in range(100):  # so many jobs have finished
        scheduler._open_jobs.release()
    rounds = rounds_in(20 * SPAN, scheduler)
    # A round a job and one a span at most; Snakemake alone has up to 2,000 here.
    assert 100 < rounds <= 121


def test_the_ready_jobs_are_looked_at_again_after_the_span():
    scheduler = SimpleNamespace(_open_jobs=threading.Semaphore(0))
    reevaluate_one_at_a_time(scheduler)
    for _ in range(3):
        assert not scheduler._open_jobs.acquire(blocking=False)
        scheduler._schedule_reevalutation(SPAN)
        assert scheduler._open_jobs.acquire(timeout=100 * SPAN)


def test_snakemake_s_scheduler_has_what_is_replaced():
    assert callable(JobScheduler._schedule_reevalutation)
