"""Is a text in a corpus? Its longest overlap, where it stands, and whether chance put it there."""

from __future__ import annotations
