"""How long jobs take together: the critical path, and a schedule on a limited machine."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from graphlib import TopologicalSorter


@dataclass(frozen=True)
class Task:
    """A job of so many seconds that holds so much of each resource and waits for other tasks."""

    seconds: float
    holds: Mapping[str, int]
    waits_for: frozenset[int]


def time_left(tasks: Sequence[Task]) -> list[float]:
    """Return the length of the longest chain of tasks that begins with each one, itself included.

    The longest of all is the critical path. A task is waited for by its place in `tasks`.
    """
    order = [*TopologicalSorter({i: task.waits_for for i, task in enumerate(tasks)}).static_order()]
    after = [0.0] * len(tasks)
    for number in reversed(order):
        task = tasks[number]
        for other in task.waits_for:
            after[other] = max(after[other], after[number] + task.seconds)
    return [task.seconds + rest for task, rest in zip(tasks, after, strict=True)]


def duration(tasks: Sequence[Task], limits: Mapping[str, int]) -> float:
    """Return when all tasks are done, each begun as soon as it may, those with the longest chain
    behind them first.

    Args:
        tasks: of one run.
        limits: how much there is of a resource; of one that is not named, enough.

    Returns infinity where a task holds more than there is.
    """
    if any(task.holds.get(key, 0) > most for task in tasks for key, most in limits.items()):
        return math.inf
    urgency = time_left(tasks)
    waiting = TopologicalSorter({i: task.waits_for for i, task in enumerate(tasks)})
    waiting.prepare()
    free, now = dict(limits), 0.0
    ready: list[tuple[float, int]] = []
    running: list[tuple[float, int]] = []
    while waiting.is_active():
        for number in waiting.get_ready():
            heapq.heappush(ready, (-urgency[number], number))
        postponed = []
        while ready:
            place = heapq.heappop(ready)
            holds = tasks[place[1]].holds
            if all(holds.get(key, 0) <= rest for key, rest in free.items()):
                free = {key: rest - holds.get(key, 0) for key, rest in free.items()}
                heapq.heappush(running, (now + tasks[place[1]].seconds, place[1]))
            else:
                postponed.append(place)
        ready = postponed
        now, number = heapq.heappop(running)
        free = {key: rest + tasks[number].holds.get(key, 0) for key, rest in free.items()}
        waiting.done(number)
    return now
