"""Mutants of functions, tried in forks of one pytest session whose tests are collected already.

Importing the tests and what they import takes longer than most tests. So a mutant is not loaded:
its function gets the mutant's code. Left to a process of its own is what that could miss: changes
outside functions and in defaults, and functions that were called while tests were collected.
"""

from __future__ import annotations

import gc
import json
import os
import resource
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, FunctionType

import pytest

from mutants import Mutant


def in_fork(work: Callable[[], int], limit: float) -> str:
    """Do work in a fork; return passed (0), caught or, over `limit` CPU seconds, too slow."""
    child = os.fork()
    if child == 0:
        status = 99
        try:
            os.setpgrp()
            resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 2))
            status = work()
        finally:
            os._exit(status)
    began = time.monotonic()
    while time.monotonic() < began + 60 + 8 * limit:  # what sleeps or waits
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return "passed" if os.waitstatus_to_exitcode(status) == 0 else "caught"
        time.sleep(0.003)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "too slow"


@dataclass
class Trial:
    """A mutant, the ids of the tests that try it, and their limit in CPU seconds."""

    mutant: Mutant
    tests: Sequence[str]
    limit: float


@dataclass(eq=False)
class Swaps:
    """The plugin: writes what became of each trial to `said`, null for what it cannot tell."""

    path: Path  # of the module whose mutants are tried
    trials: Sequence[Trial]
    said: Path
    source: str = ""
    called: set[str] = field(default_factory=set)  # while the tests were collected

    def __post_init__(self) -> None:
        self.source = self.path.read_text()
        sys.settrace(self._trace)  # type: ignore[arg-type]

    def _trace(self, frame: FrameType, event: str, arg: object) -> None:
        if frame.f_code.co_filename == str(self.path):
            self.called.add(_outermost(frame.f_code.co_qualname))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Try the mutants, and run no test here."""
        sys.settrace(None)
        items = {item.nodeid: item for item in session.items}
        functions: dict[str, list[FunctionType]] = {}
        for thing in gc.get_objects():
            if isinstance(thing, FunctionType) and thing.__code__.co_filename == str(self.path):
                functions.setdefault(thing.__code__.co_qualname, []).append(thing)
        files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
        loaded = str(self.path) in files
        outcomes: list[str | None] = []
        for trial in self.trials:
            name = _outermost(trial.mutant.function)
            code = self._code(trial.mutant, name) if loaded else None
            chosen = [items[test] for test in trial.tests if test in items]
            ours = functions.get(name, [])
            fits = code and ours and all(_fits(code, one) for one in ours)
            if len(chosen) < len(trial.tests) or (loaded and not fits):
                outcomes.append(None)
                continue
            try:  # what is loaded later, or by a process, is the file's
                self.path.write_text(trial.mutant.apply(self.source))
                outcomes.append(in_fork(lambda: _run(chosen, ours, code), trial.limit))  # noqa: B023
            finally:
                self.path.write_text(self.source)
        self.said.write_text(json.dumps(outcomes))
        return True

    def _code(self, mutant: Mutant, name: str) -> CodeType | None:
        """Return the mutant's code of the function, if it is there and alone in being another."""
        if not name or name.endswith(".") or name in self.called:
            return None
        old, new = (
            [code for code in _codes(compile(text, self.path, "exec")) if code.co_qualname == name]
            for text in (self.source, mutant.apply(self.source))
        )
        if not len(old) == len(new) == 1 or _placeless(old[0]) == _placeless(new[0]):
            return None
        return new[0]


def _run(items: list[pytest.Item], functions: list[FunctionType], code: CodeType | None) -> int:
    """Run tests with a function's code swapped; return whether any failed."""
    for function in functions if code else ():
        function.__code__ = code  # type: ignore[assignment]
    output = os.open("pytest.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        if item.session.testsfailed:
            return 1
    return 0


def _fits(code: CodeType, function: FunctionType) -> bool:
    return len(code.co_freevars) == len(function.__code__.co_freevars)


def _placeless(code: CodeType) -> CodeType:
    """Return a function's code without its places in the source, which any change moves."""
    constants = (_placeless(one) if isinstance(one, CodeType) else one for one in code.co_consts)
    return code.replace(co_consts=tuple(constants), co_linetable=b"", co_firstlineno=1)


def _outermost(name: str) -> str:
    return name.partition(".<locals>")[0]


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
