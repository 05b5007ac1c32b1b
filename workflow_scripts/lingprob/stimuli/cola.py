"""CoLA: single sentences from the literature, acceptable or not (Warstadt et al. 2019)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli.checks import NO_RATINGS
from lingprob.stimuli.pair_files import read_lines

LABELS = {"1": True, "0": False}


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the sentences of the files: a line has source, label, the author's mark and text.

    The sentences are in no pairs; the publication that one comes from is its paradigm.
    """
    tables = [read_sentences(directory / file["name"]) for file in entry["files"]]
    stimuli = pd.concat(tables, ignore_index=True).assign(
        pair_id=None,
        condition=None,
        rating=None,
        rating_source=None,
        phenomenon=None,
        language="en",
    )
    return stimuli, NO_RATINGS


def read_sentences(path: Path) -> pd.DataFrame:
    """Read one file; raise LingprobError that names a line of another shape or label."""
    rows = []
    for number, line in enumerate(read_lines(path), start=1):
        fields = line.split("\t")
        if len(fields) != 4 or fields[1] not in LABELS:
            raise LingprobError(
                f"{path}, line {number}: expected source, label (0 or 1), mark and sentence with "
                f"tabs between; found {fields}. Fetch the file again."
            )
        source, label, _, text = fields
        rows.append(
            {
                "item_id": f"{path.stem}.{number}",
                "text": text,
                "grammatical": LABELS[label],
                "paradigm": source,
            }
        )
    return pd.DataFrame(rows)
