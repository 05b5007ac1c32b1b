"""The one exception for problems that the user can mend, and the helpers that word them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class LingprobError(Exception):
    """Names the file, row or option at fault and the remedy; shown without a traceback."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Return up to `count` of the known names that contain `name` or look most like it."""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    containing = [candidate for candidate in by_lower_case if name.lower() in candidate]
    similar = difflib.get_close_matches(name.lower(), by_lower_case, n=count, cutoff=0.4)
    found = dict.fromkeys([*containing, *similar])
    return [by_lower_case[candidate] for candidate in found][:count]


def unknown_name(kind: str, name: str, known: Iterable[str], remedy: str = "") -> LingprobError:
    """Build the error for a name that nothing answers to, with the nearest known names."""
    known = sorted(known)
    close = nearest(name, known) or known[:5]
    message = f"unknown {kind} {name!r}. Did you mean {', '.join(map(repr, close))}?"
    return LingprobError(f"{message} {remedy}".strip())
