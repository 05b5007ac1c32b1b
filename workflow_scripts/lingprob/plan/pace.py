"""How long a run still takes, from what its finished jobs took and were expected to take."""

from __future__ import annotations

from collections.abc import Mapping

LEAST_SECONDS = 60  # jobs that took less say nothing about speeds, for they mostly started


class Pace:
    """The clock of a run: which of its jobs run, which are done, and what that says of the rest.

    Jobs that mostly start and jobs that mostly work are corrected each by their own kind: a
    hundred quick starts do not make a training shorter. A kind of which none is done takes what it
    is expected to.
    """

    def __init__(self, expected: Mapping[int, float], now: float) -> None:
        """Begin with the seconds that each job is expected to take, by its number."""
        self.expected, self.began = expected, now
        self.running: dict[int, float] = {}
        self.waiting = {False: 0.0, True: 0.0}  # expected seconds of short jobs and of long ones
        self.done, self.took = dict(self.waiting), dict(self.waiting)
        for seconds in expected.values():
            self.waiting[is_long(seconds)] += seconds

    def start(self, number: int, now: float) -> None:
        """Take note that a job begins, or begins again; others than the expected are left out."""
        if number in self.expected and number not in self.running:
            self.waiting[is_long(self.expected[number])] -= self.expected[number]
        if number in self.expected:
            self.running[number] = now

    def fail(self, number: int) -> None:
        """Take note that a job that had begun is to be done again, or by nobody."""
        if self.running.pop(number, None) is not None:
            self.waiting[is_long(self.expected[number])] += self.expected[number]

    def finish(self, number: int, now: float) -> None:
        """Take note that a job is done; of one that nobody saw begin, that it took no time."""
        if number not in self.running:
            self.start(number, now)
        kind = is_long(self.expected[number])
        self.took[kind] += now - self.running.pop(number)
        self.done[kind] += self.expected[number]

    @property
    def share(self) -> float:
        """The share of the expected work that is done."""
        return sum(self.done.values()) / sum(self.expected.values())

    def left(self, now: float) -> float:
        """Return the seconds until all is done, with as many jobs at one time as there were."""
        factor = {kind: self.took[kind] / done if done else 1.0 for kind, done in self.done.items()}
        # What is left when all has begun may be a rounding error below nothing.
        rest = sum(max(0.0, seconds) * factor[kind] for kind, seconds in self.waiting.items())
        for number, began in self.running.items():
            seconds = self.expected[number]
            rest += max(0.0, seconds * factor[is_long(seconds)] - (now - began))
        busy = sum(self.took.values()) + sum(now - began for began in self.running.values())
        return rest * (now - self.began) / busy if busy else rest


def is_long(seconds: float) -> bool:
    """Return whether a job that is expected to take so long mostly works."""
    return seconds >= LEAST_SECONDS
