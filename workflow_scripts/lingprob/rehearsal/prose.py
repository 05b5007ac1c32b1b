"""Made-up text, drawn from the package's own sentences."""

from __future__ import annotations

import zlib
from functools import cache

import numpy as np
import pandas as pd

from lingprob.demo import CONTROL_SENTENCES, MINIMAL_PAIRS


def generator(name: str) -> np.random.Generator:
    """Return a random generator that depends on a name alone."""
    return np.random.default_rng(zlib.crc32(name.encode()))


@cache
def sentences() -> tuple[str, ...]:
    """Return the demo's acceptable sentences and its unrelated ones."""
    control = CONTROL_SENTENCES.read_text(encoding="utf-8").splitlines()
    return (*pd.read_csv(MINIMAL_PAIRS)["good"], *filter(None, control))


def documents(name: str, count: int, length: int) -> list[str]:
    """Return `count` texts of `length` sentences each, the same for the same name."""
    drawn = generator(name).integers(len(sentences()), size=(count, length))
    return [" ".join(sentences()[place] for place in row) for row in drawn]
