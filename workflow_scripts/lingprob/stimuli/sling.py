"""SLING: Chinese minimal pairs made from a treebank (Song et al. 2022)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.stimuli.checks import NO_RATINGS
from lingprob.stimuli.pair_files import pairs_as_stimuli, read_json_pairs


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of the listed files; 24 of the 40,000 consist of identical sentences.

    The paradigm is the file's name: the key `paradigm` puts twelve files under one name.
    """
    paradigms = [
        read_json_pairs(directory / file["name"], phenomenon="phenomenon")
        for file in entry["files"]
    ]
    return pairs_as_stimuli(paradigms, "zh"), NO_RATINGS
