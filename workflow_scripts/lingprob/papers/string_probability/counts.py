"""What is in each data set, as published, as the paper counts it, and as used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import pandas as pd

from lingprob.minimalness.distances import (
    COMPARISONS,
    POPULATIONS,
    EditFilter,
    edit_threshold,
    near_pairs,
    pair_texts,
    pairs_in_use,
)

UNITS = ("characters", "words")
COUNTS, FILTER = "Table 1a", "§5.1"


def published_value(published: Mapping[str, Any], item: str, row: str) -> float | None:
    """Return a number of the paper, or None if it states none."""
    (rows,) = [entry["rows"] for entry in published["items"] if entry["item"] == item]
    return float(rows[row][0]) if row in rows else None


def count_datasets(
    whole: Mapping[str, pd.DataFrame],
    used: Mapping[str, pd.DataFrame],
    titles: Mapping[str, str],
    distances: Mapping[str, pd.DataFrame],
    reading: EditFilter,
    published: Mapping[str, Any],
    scale: str,
) -> pd.DataFrame:
    """Return a row a data set: its counts, what is left out and why, and the paper's count.

    `whole` and `used` are `stimuli` tables, the latter a sample or the same; `distances` are the
    `minimalness` tables of rated pairs that are used. `counted` is what the paper counts: pairs of
    different sentences, or sentences where there are no pairs; of rated pairs those that pass the
    filter. What the analyses use are `used_pairs` and `used_sentences`.
    """
    rows = []
    for name, stimuli in whole.items():
        texts = pair_texts(stimuli, name)
        identical = int((texts["good"] == texts["bad"]).sum())
        paired = stimuli["pair_id"].notna().any()
        unrated = stimuli["rating"].isna()
        kept = pairs_in_use(used[name], name, distances.get(name), reading)
        counted = len(texts) - identical if paired else len(stimuli)
        section, quantity = (FILTER, "kept") if name in distances else (COUNTS, "counted")
        rows.append(
            {
                "dataset": name,
                "title": titles[name],
                "sentences": len(stimuli),
                "pairs": len(texts),
                "identical_pairs": identical,
                "duplicated_sentences": int(stimuli["text"].duplicated().sum()),
                # Data sets that nobody rated lack no rating.
                "missing_ratings": 0 if unrated.all() else int(unrated.sum()),
                "counted": len(kept) if name in distances else counted,
                "counted_published": published_value(published, section, f"{name}/{quantity}"),
                "used_pairs": len(kept),
                "used_sentences": 2 * len(kept) + int(used[name]["pair_id"].isna().sum()),
                "rating_source": stimuli["rating_source"].fillna("").max(),
                "scale": scale,
            }
        )
    return pd.DataFrame(rows)


def count_filters(
    stimuli: Mapping[str, pd.DataFrame],
    distances: Mapping[str, pd.DataFrame],
    chosen: EditFilter,
    published: Mapping[str, Any],
    scale: str,
) -> pd.DataFrame:
    """Return a row for each reading of the filter by edit distance: how many pairs it keeps.

    `distances` are `minimalness` tables of rated pairs, `stimuli` tables that have them; `used`
    marks the reading `chosen`. (string_probability, §5.1)
    """
    readings = [
        EditFilter(unit, chosen.quantile, comparison, population)
        for unit in UNITS
        for comparison in COMPARISONS
        for population in POPULATIONS
    ]
    rows = [
        {
            "dataset": name,
            **asdict(reading),
            "edits": edit_threshold(stimuli[name], table, reading),
            "pairs": len(table),
            "kept": len(near_pairs(stimuli[name], table, name, reading)),
            "kept_published": published_value(published, FILTER, f"{name}/kept"),
            "used": reading == chosen,
            "scale": scale,
        }
        for name, table in distances.items()
        for reading in readings
    ]
    columns = ["dataset", "unit", "quantile", "comparison", "population", "edits", "pairs", "kept"]
    return pd.DataFrame(rows, columns=[*columns, "kept_published", "used", "scale"])
