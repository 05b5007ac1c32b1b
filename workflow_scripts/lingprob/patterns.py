"""Names and patterns that choose among names, as settings have them: `trained-*`, `!*-ft*`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatch


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of these patterns, and none of those after `!`."""
    chosen = False
    for pattern in patterns:
        if pattern.startswith("!") and fnmatch(name, pattern[1:]):
            return False
        chosen = chosen or fnmatch(name, pattern)
    return chosen


def choose(names: Sequence[str], patterns: Sequence[str]) -> list[str]:
    """Return the names that match, each once: in the order of the patterns, then their own."""
    wanted = [name for pattern in patterns for name in names if fnmatch(name, pattern)]
    return [name for name in dict.fromkeys(wanted) if matches(name, patterns)]
