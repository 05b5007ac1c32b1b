"""Conditions of composed prefixes: what is varied (their kind) and how far (their level)."""

from __future__ import annotations

COMPOSED = "composed"
# Kinds: the share of unacceptable sentences; where half of them stand; unrelated sentences after
# them; the same with other words, or in another order; of other phenomena, as many words shared.
DOSE, PLACE, DISTANCE = "dose", "place", "distance"
NONCE, SHUFFLED, OVERLAP_MATCHED = "nonce", "shuffled", "overlap_matched"
CONTROLS = (OVERLAP_MATCHED, NONCE, SHUFFLED)

DOSES = (0.0, 0.25, 0.5, 0.75, 1.0)
PLACES = EARLY, LATE = "early", "late"
# Levels of all other kinds, and the dose that each stands for.
SIDES = ACCEPTABLE, UNACCEPTABLE = "acceptable", "unacceptable"


def level_of(dose: float) -> str:
    """Return the level of kind `dose` that is this share of unacceptable sentences."""
    return f"{dose:g}"


NONE_AT_ALL, THROUGHOUT = level_of(0.0), level_of(1.0)
