"""Is a minimal pair a good one? What may decide between its sentences beside grammar."""

from __future__ import annotations
