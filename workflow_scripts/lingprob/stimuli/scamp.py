"""SCaMP: minimal pairs with plausible or implausible meanings (McCoy & Griffiths 2025)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli.checks import NO_RATINGS
from lingprob.stimuli.pair_files import pairs_as_stimuli, read_lines

SUFFIXES = ("_implausible", "_plausible")


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs of all paradigms: a line has the good sentence, a tab and the bad one.

    Text is as published: lower case, with a blank before the full stop. Paradigms have no
    phenomenon above them; each is its own.
    """
    paradigms = [read_paradigm(directory / file["name"]) for file in entry["files"]]
    return pairs_as_stimuli(paradigms, "en"), NO_RATINGS


def read_paradigm(path: Path) -> pd.DataFrame:
    """Read one file as a pair a row; raise LingprobError for a line that is not a pair."""
    rows = [line.split("\t") for line in read_lines(path)]
    for number, row in enumerate(rows, start=1):
        if len(row) != 2 or not all(text.strip() for text in row):
            raise LingprobError(
                f"{path}, line {number}: a pair is two sentences with a tab between; this line "
                f"has {len([text for text in row if text.strip()])}. Fetch the file again."
            )
    name = path.stem
    for suffix in SUFFIXES:
        name = name.removesuffix(suffix)
    table = pd.DataFrame(rows, columns=["good", "bad"])
    return table.assign(phenomenon=name, paradigm=name, number=range(len(rows)))
