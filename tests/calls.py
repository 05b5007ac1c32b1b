"""Which test calls which function of the package, and how long it takes.

A plugin of pytest that watches one run. What a fixture calls that several tests share counts for
all of them. Functions that numba compiles are seen where its compiler is switched off.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType

import pytest


@dataclass
class Calls:
    """What was called in a stretch of time: all code objects by their identity."""

    codes: dict[int, CodeType] = field(default_factory=dict)
    seconds: float = 0.0


@dataclass(eq=False)
class Watch:
    """The plugin: `tests` are (name, processor seconds, functions called) of those that passed.

    Those that the limit kept from being run follow with an infinite time.
    """

    package: Path
    limit: float = float("inf")  # CPU seconds, after which no other test is begun
    tests: list[tuple[str, float, list[str]]] = field(default_factory=list)
    _now: Calls = field(default_factory=Calls)
    _shared: dict[int, Calls] = field(default_factory=dict)
    _bad: set[str] = field(default_factory=set)

    def _trace(self, frame: FrameType, event: str, arg: object) -> None:
        code = frame.f_code
        self._now.codes[id(code)] = code

    def _watched(self) -> Iterator[None]:
        before, self._now = self._now, Calls()
        began = time.process_time()
        sys.settrace(self._trace)  # type: ignore[arg-type]
        threading.settrace(self._trace)  # type: ignore[arg-type]
        try:
            return (yield)
        finally:
            self._now.seconds += time.process_time() - began
            self._last, self._now = self._now, before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Iterator[None]:
        """Keep apart what a fixture calls that several tests share."""
        if fixturedef.scope == "function":
            return (yield)
        result = yield from self._watched()
        self._now.seconds -= self._last.seconds
        kept = self._shared.setdefault(id(fixturedef), Calls())
        kept.codes.update(self._last.codes)
        kept.seconds = max(kept.seconds, self._last.seconds)
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        """Watch a test with its fixtures."""
        result = yield from self._watched()
        sys.settrace(None)
        fixtures = [
            self._shared[id(fixture)]
            for fixtures in item._fixtureinfo.name2fixturedefs.values()
            for fixture in fixtures
            if id(fixture) in self._shared
        ]
        codes = dict(self._last.codes)
        for fixture in fixtures:
            codes.update(fixture.codes)
        seconds = self._last.seconds + sum(fixture.seconds for fixture in fixtures)
        if item.nodeid not in self._bad:
            self.tests.append((item.nodeid, seconds, self._names(codes)))
        if time.process_time() > self.limit:
            item.session.shouldstop = f"after {self.limit:g} s"
            left = item.session.items[item.session.items.index(item) + 1 :]
            self.tests += [(other.nodeid, float("inf"), []) for other in left]
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Leave out what failed or was skipped."""
        if report.outcome != "passed":
            self._bad.add(report.nodeid)

    def _names(self, codes: dict[int, CodeType]) -> list[str]:
        """Return `folder/module.py:function` of the package's functions; `*` for a process."""
        names = set()
        for code in codes.values():
            if code.co_filename.endswith("subprocess.py") and code.co_name == "_execute_child":
                names.add("*")
            elif code.co_filename.startswith(str(self.package)):
                file = Path(code.co_filename).relative_to(self.package).as_posix()
                names.add(f"{file}:{code.co_qualname}")
        return sorted(names)
