"""The eight strings of the paper's toy example (string_probability, §2.1.1)."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.stimuli.checks import NO_RATINGS

GRAMMATICAL = {("The", "moon", "emerges"), ("A", "moon", "emerges"), ("The", "moons", "emerge")}


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return {The, A} {moon, moons} {emerge, emerges}., of which three are grammatical."""
    words = list(product(("The", "A"), ("moon", "moons"), ("emerge", "emerges")))
    stimuli = pd.DataFrame(
        {
            "item_id": ["_".join(string).lower() for string in words],
            "pair_id": None,
            "condition": None,
            "text": [" ".join(string) + "." for string in words],
            "grammatical": [string in GRAMMATICAL for string in words],
            "rating": None,
            "rating_source": None,
            "phenomenon": None,
            "paradigm": None,
            "language": "en",
        }
    )
    return stimuli, NO_RATINGS
