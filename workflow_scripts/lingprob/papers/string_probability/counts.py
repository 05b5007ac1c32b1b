"""What is in each data set, as published, as the paper counts it, and as used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from lingprob.minimalness.distances import COMPARISONS, pair_texts, within_quantile

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
    published: Mapping[str, Any],
    scale: str,
) -> pd.DataFrame:
    """Return a row a data set: its counts, what is left out and why, and the paper's count.

    `whole` and `used` are `stimuli` tables, the latter a sample or the same. `counted` is what the
    paper counts: pairs of different sentences, or sentences where there are no pairs; of rated
    pairs the paper counts those that pass the filter (`count_filters`), so that it is not here.
    """
    rows = []
    for name, stimuli in whole.items():
        texts = pair_texts(stimuli, name)
        identical = int((texts["good"] == texts["bad"]).sum())
        paired = stimuli["pair_id"].notna().any()
        unrated = stimuli["rating"].isna()
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
                "counted": len(texts) - identical if paired else len(stimuli),
                "counted_published": published_value(published, COUNTS, f"{name}/counted"),
                "used_pairs": int(used[name]["pair_id"].nunique()),
                "used_sentences": len(used[name]),
                "rating_source": stimuli["rating_source"].fillna("").max(),
                "scale": scale,
            }
        )
    return pd.DataFrame(rows)


def count_filters(
    distances: Mapping[str, pd.DataFrame],
    quantile: float,
    published: Mapping[str, Any],
    scale: str,
) -> pd.DataFrame:
    """Return a row for each reading of the filter by edit distance: how many pairs it keeps.

    `distances` are `minimalness` tables of rated pairs. (string_probability, §5.1)
    """
    columns = ["dataset", "unit", "comparison", "quantile", "edits", "pairs", "kept"]
    rows = []
    for name, table in distances.items():
        for unit in UNITS:
            edits = table[f"levenshtein_{unit}"]
            for comparison in COMPARISONS:
                kept = within_quantile(edits, quantile, comparison)
                rows.append(
                    {
                        "dataset": name,
                        "unit": unit,
                        "comparison": comparison,
                        "quantile": quantile,
                        "edits": float(edits.quantile(quantile)),
                        "pairs": len(table),
                        "kept": int(kept.sum()),
                        "kept_published": published_value(published, FILTER, f"{name}/kept"),
                        "scale": scale,
                    }
                )
    return pd.DataFrame(rows, columns=[*columns, "kept_published", "scale"])
