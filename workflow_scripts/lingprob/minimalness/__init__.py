"""How near the two sentences of a pair are: by edits, and by what they mean."""

from __future__ import annotations
