"""Progress of long work, as a bar on a terminal and as lines in a log."""

import logging
import os
import sys
import time
from typing import Self

from tqdm import tqdm

LOG_SECONDS = 10.0
logger = logging.getLogger(__name__)


class Progress:
    """A context manager that counts finished items and shows their number and rate.

    On a terminal it draws a bar. In any case it writes a line to the logger at most every
    LOG_SECONDS, and one at the end, so that a log file stays readable.
    """

    def __init__(self, total: int | None, description: str, unit: str) -> None:
        self.total, self.description, self.unit = total, description, unit
        self.done = self.done_before = 0
        self.started = self.logged = time.monotonic()
        self.bar = tqdm(
            total=total, desc=description, unit=unit, unit_scale=True, dynamic_ncols=True,
            disable=not sys.stderr.isatty() or "TQDM_DISABLE" in os.environ,
            delay=1.0,  # quick work needs no bar
        )  # fmt: skip

    def resume_at(self, done: int) -> None:
        """Count `done` items that an earlier run finished, and leave them out of the rate."""
        self.done = self.done_before = done
        self.bar.initial = self.bar.n = done
        self.bar.refresh()

    def advance(self, count: int = 1) -> None:
        """Add `count` finished items."""
        self.done += count
        self.bar.update(count)
        if time.monotonic() - self.logged >= LOG_SECONDS:
            self._log()

    def _log(self) -> None:
        self.logged = time.monotonic()
        rate = (self.done - self.done_before) / max(self.logged - self.started, 1e-9)
        done = f"{self.done}/{self.total}" if self.total is not None else self.done
        logger.info("%s: %s %s, %.1f %s/s", self.description, done, self.unit, rate, self.unit)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.bar.close()
        self._log()
