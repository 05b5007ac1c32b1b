"""How long a run still takes, from what its finished jobs took and were expected to take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

LEAST_SECONDS = 60  # jobs that took less say nothing about speeds, for they mostly started
# A rule's own jobs say how long its others take once they were to take about so much; until then
# jobs of all rules do.
OWN_SECONDS = 60


class ExpectedJob(NamedTuple):
    """A job of a run: the seconds that it is expected to take, its rule, and its cores."""

    seconds: float
    rule: str = ""
    cores: int = 1

    @property
    def work(self) -> float:
        """Expected core seconds."""
        return self.seconds * self.cores

    @property
    def is_long(self) -> bool:
        """Whether it mostly works, and not mostly starts."""
        return self.seconds >= LEAST_SECONDS


class Pace:
    """The clock of a run: which of its jobs run, which are done, and what that says of the rest.

    Jobs that mostly start and jobs that mostly work are corrected each by their own kind: a
    hundred quick starts do not make a training shorter. Within its kind a rule is corrected by what
    its own jobs took, as soon as they tell. A kind of which none is done takes what it is expected
    to. All is counted in core seconds: beside a job of all cores there runs no other.
    """

    def __init__(self, jobs: Mapping[Any, ExpectedJob], now: float) -> None:
        """Begin with what is expected of each job, by its number."""
        self.jobs, self.began = jobs, now
        self.running: dict[Any, float] = {}
        # Core seconds by kind and rule: expected of what waits and of what is done, and taken.
        self.waiting: defaultdict[tuple[bool, str], float] = defaultdict(float)
        self.done, self.took = self.waiting.copy(), self.waiting.copy()
        for job in jobs.values():
            self.waiting[job.is_long, job.rule] += job.work

    def start(self, number: Any, now: float) -> None:
        """Take note that a job begins, or begins again; others than the expected are left out."""
        if (job := self.jobs.get(number)) is None:
            return
        if number not in self.running:
            self.waiting[job.is_long, job.rule] -= job.work
        self.running[number] = now

    def fail(self, number: Any) -> None:
        """Take note that a job that had begun is to be done again, or by nobody."""
        if self.running.pop(number, None) is not None:
            job = self.jobs[number]
            self.waiting[job.is_long, job.rule] += job.work

    def finish(self, number: Any, now: float) -> None:
        """Take note that a job is done; of one that nobody saw begin, that it took no time."""
        if number not in self.running:
            self.start(number, now)
        job = self.jobs[number]
        self.took[job.is_long, job.rule] += (now - self.running.pop(number)) * job.cores
        self.done[job.is_long, job.rule] += job.work

    @property
    def share(self) -> float:
        """The share of the expected work that is done."""
        return sum(self.done.values()) / sum(job.work for job in self.jobs.values())

    def left(self, now: float) -> float:
        """Return the seconds until all is done, on as many cores at one time as there were."""
        usual = {is_long: self._usual(is_long) for is_long in (False, True)}
        # What is left when all has begun may be a rounding error below nothing.
        rest = sum(
            max(0.0, work) * self._factor(*kind, usual[kind[0]])
            for kind, work in self.waiting.items()
        )
        busy = sum(self.took.values())
        for number, began in self.running.items():
            job, ran = self.jobs[number], now - began
            seconds = job.seconds * self._factor(job.is_long, job.rule, usual[job.is_long])
            rest += max(0.0, seconds - ran) * job.cores
            busy += ran * job.cores
        return rest * (now - self.began) / busy if busy else rest

    def _usual(self, is_long: bool) -> float:
        """Return what jobs of a kind took to what was expected; 1 if none is done."""
        took, done = (
            sum(seconds for kind, seconds in counted.items() if kind[0] == is_long)
            for counted in (self.took, self.done)
        )
        return took / done if done else 1.0

    def _factor(self, is_long: bool, rule: str, usual: float) -> float:
        """Return the same of a rule's: its own as far as it is known, else its kind's."""
        took, done = self.took.get((is_long, rule), 0.0), self.done.get((is_long, rule), 0.0)
        return (took + OWN_SECONDS * usual) / (done + OWN_SECONDS)
