"""Read published files, turn pairs into sentences, and check stimuli, for all parsers."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.io.schemas import SCHEMAS

Entry = dict[str, Any]  # of the catalog
Parsed = tuple[pd.DataFrame, pd.DataFrame]  # `stimuli` without `dataset`, and `ratings`
NO_RATINGS = SCHEMAS["ratings"].empty_table().to_pandas()
SIDES = ("good", "bad")


def check_stimuli(stimuli: pd.DataFrame, dataset: str) -> None:
    """Raise LingprobError if a table is empty, an id occurs twice or a sentence is empty."""
    where = f"data set {dataset!r}"
    if stimuli.empty:
        raise LingprobError(f"{where}: no sentences.")
    refuse_rows(
        stimuli["item_id"].duplicated(),
        "{source}, row {row}: an earlier row has the item id {item_id!r}. Rename one.",
        stimuli,
        source=where,
    )
    refuse_rows(
        is_empty(stimuli["text"]),
        "{source}, item {item_id!r}: empty sentence. Delete or complete the row.",
        stimuli,
        source=where,
    )


def is_empty(texts: pd.Series) -> pd.Series:
    """Return which texts are missing or only white space, (n,) bool."""
    return texts.isna() | (texts.astype(str).str.strip() == "")


def pairs_as_sentences(
    pairs: pd.DataFrame, language: str, rating_source: str | None = None
) -> pd.DataFrame:
    """Return a `stimuli` table without `dataset`, with the acceptable sentence of each pair first.

    Args:
        pairs: one row per pair: `pair_id`, `phenomenon`, `paradigm`, `good`, `bad` (texts) and, if
            known, `good_rating`, `bad_rating`, `good_id` and `bad_id` (else PAIR.good, PAIR.bad).
        language: language of all sentences.
        rating_source: `human`, `simulated` or None.
    """
    sides = [
        pd.DataFrame(
            {
                "item_id": pairs.get(f"{side}_id", pairs["pair_id"] + f".{side}"),
                "pair_id": pairs["pair_id"],
                "condition": side,
                "text": pairs[side],
                "grammatical": side == "good",
                "rating": pairs.get(f"{side}_rating", np.nan),
                "rating_source": rating_source,
                "phenomenon": pairs["phenomenon"],
                "paradigm": pairs["paradigm"],
                "language": language,
            }
        )
        for side in SIDES
    ]
    return pd.concat(sides).sort_index(kind="stable", ignore_index=True)


def read_csv_utf8(path: Path, **options: Any) -> pd.DataFrame:
    """Return the table in a CSV file in UTF-8. `options` are those of `pandas.read_csv`.

    Raises LingprobError that names a file in another encoding or that is no table.
    """
    try:
        return pd.read_csv(path, encoding="utf-8-sig", **options)
    except (UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise LingprobError(f"{path}: not a CSV file in UTF-8 ({error}). Convert it.") from error


def read_lines(path: Path) -> list[str]:
    """Return the lines of a UTF-8 text file."""
    return path.read_text(encoding="utf-8-sig").rstrip("\n").split("\n")
