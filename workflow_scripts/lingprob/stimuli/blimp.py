"""BLiMP: 67 paradigms of 1,000 English minimal pairs made from templates (Warstadt et al. 2020)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.stimuli.checks import NO_RATINGS
from lingprob.stimuli.pair_files import pairs_as_stimuli, read_json_pairs


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of all paradigms; `phenomenon` is what BLiMP calls `linguistics_term`.

    Seven pairs consist of identical sentences.
    """
    paradigms = [
        read_json_pairs(directory / file["name"], phenomenon="linguistics_term")
        for file in entry["files"]
    ]
    return pairs_as_stimuli(paradigms, "en"), NO_RATINGS
