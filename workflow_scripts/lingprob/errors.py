"""The one exception for problems that the user can mend, and the helpers that word them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LingprobError(Exception):
    """Names the file, row or option at fault and the remedy; shown without a traceback."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` of the known names that look most like `name`, best first."""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower_case, n=count, cutoff=0.4)
    return [by_lower_case[candidate] for candidate in found]


def unknown_name(kind: str, name: str, known: Iterable[str], remedy: str = "") -> LingprobError:
    """Build the error for a name that nothing answers to, with the nearest known names."""
    known = sorted(known)
    close = nearest(name, known) or known[:5]
    message = f"unknown {kind} {name!r}. Did you mean {', '.join(map(repr, close))}?"
    return LingprobError(f"{message} {remedy}".strip())
