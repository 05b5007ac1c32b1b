"""Distances between the sentences of each pair, and what is made of them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from lingprob.errors import LingprobError

Embed = Callable[[list[str]], NDArray[np.float32]]
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "below": operator.lt,
    "at_most": operator.le,
}
POPULATIONS = ("rated", "all")


def pair_texts(stimuli: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the texts of each pair, indexed by pair id in the order of the table: good and bad.

    Raises LingprobError that names the data set and a pair with a member missing or too many.
    """
    paired = stimuli[stimuli["pair_id"].notna()]
    sides = {side: paired[paired["grammatical"].eq(side)] for side in (True, False)}
    ids = paired["pair_id"].drop_duplicates()
    columns = {}
    for side, name in ((True, "good"), (False, "bad")):
        count = sides[side]["pair_id"].value_counts().reindex(ids, fill_value=0)
        if not count.eq(1).all():
            pair, found = count[count != 1].index[0], int(count[count != 1].iloc[0])
            kind = "grammatical" if side else "ungrammatical"
            raise LingprobError(
                f"data set {dataset!r}, pair {pair!r}: {found} {kind} sentences "
                f"({int(count.ne(1).sum())} such pairs); a pair has one of each. Complete or "
                "delete it."
            )
        columns[name] = sides[side].set_index("pair_id")["text"]
    return pd.DataFrame(columns).loc[ids]


def measure_pairs(stimuli: pd.DataFrame, dataset: str, embed: Embed) -> pd.DataFrame:
    """Return a `minimalness` table: edit distances and cosine distance of each pair.

    Edits are Levenshtein's, of characters and of words between blanks; the cosine distance is one
    less the product of the two sentences' embeddings, which `embed` returns at length one, (n, d).
    Each distinct sentence is embedded once. Raises LingprobError for a data set without pairs.
    (string_probability, §4.2 and §5.1)
    """
    texts = pair_texts(stimuli, dataset)
    if texts.empty:
        raise LingprobError(
            f"data set {dataset!r}: no pairs, and Predictions 1 and 2 are about pairs. Name the "
            "pairs of its sentences (`pair_id`), or take it out of string_probability.prediction_1 "
            "and prediction_2."
        )
    distinct = pd.Index(pd.unique(texts.to_numpy().ravel()))
    embedded = embed(list(distinct)).astype(np.float64)
    good, bad = (embedded[distinct.get_indexer(texts[side])] for side in ("good", "bad"))
    # Rounding makes the distance of a sentence from itself slightly negative.
    cosine = np.maximum(1 - np.einsum("ij,ij->i", good, bad), 0.0)
    return edit_distances(texts).assign(cosine_distance=cosine).rename_axis("pair_id").reset_index()


def edit_distances(texts: pd.DataFrame) -> pd.DataFrame:
    """Return Levenshtein's distances of texts `good` and `bad`, with their index: of characters and
    of words between blanks."""
    pairs = list(zip(texts["good"], texts["bad"], strict=True))
    return pd.DataFrame(
        {
            "levenshtein_characters": [Levenshtein.distance(one, other) for one, other in pairs],
            "levenshtein_words": [
                Levenshtein.distance(one.split(), other.split()) for one, other in pairs
            ],
        },
        index=texts.index,
    )


@dataclass(frozen=True)
class EditFilter:
    """A reading of "edit distance below the 75th quantile across all pairs" (string_probability,
    §5.1): `unit` of an edit (characters, words), the quantile, `comparison` with it (below,
    at_most) and the `population` that it is of (rated: pairs with both ratings; all)."""

    # The reading that keeps the paper's 1,883 pairs of LI.
    unit: str = "characters"
    quantile: float = 0.75
    comparison: str = "at_most"
    population: str = "rated"


def edit_threshold(stimuli: pd.DataFrame, distances: pd.DataFrame, reading: EditFilter) -> float:
    """Return the quantile of the edit distances of a reading's population.

    Raises LingprobError if no pair has both ratings and the quantile is of such pairs.
    """
    edits = distances.set_index("pair_id")[f"levenshtein_{reading.unit}"]
    if reading.population == "rated":
        rated = stimuli["rating"].notna().groupby(stimuli["pair_id"]).all()
        edits = edits[rated.reindex(edits.index, fill_value=False)]
    if edits.empty:
        raise LingprobError(
            "the filter by edit distance: no pair has both ratings. Take "
            "the data set out of string_probability.prediction_2."
        )
    return float(edits.quantile(reading.quantile))


def near_pairs(
    stimuli: pd.DataFrame, distances: pd.DataFrame, dataset: str, reading: EditFilter
) -> pd.Index:
    """Return the ids of the pairs that a reading of the filter keeps, in the order of the table.

    Pairs of identical sentences are not among them. `distances` is the `minimalness` table.
    """
    texts = pair_texts(stimuli, dataset)
    different = texts.index[texts["good"] != texts["bad"]]
    edits = distances.set_index("pair_id")[f"levenshtein_{reading.unit}"].reindex(different)
    threshold = edit_threshold(stimuli, distances, reading)
    return different[COMPARISONS[reading.comparison](edits, threshold).to_numpy()]


def pairs_in_use(
    stimuli: pd.DataFrame, dataset: str, distances: pd.DataFrame | None, reading: EditFilter
) -> pd.Index:
    """Return the ids of the pairs that analyses use: those of two sentences and, given `distances`
    of rated pairs, near ones."""
    if distances is not None:
        return near_pairs(stimuli, distances, dataset, reading)
    texts = pair_texts(stimuli, dataset)
    return texts.index[texts["good"] != texts["bad"]]


def equal_bins(values: pd.Series, bins: int) -> pd.Series:
    """Return the bin of each value, int from 1, in bins whose sizes differ by at most one.

    Equal values at a border are put into either bin in the order of the rows; the larger bins come
    first. (string_probability, §4.2)
    """
    order = np.argsort(values.to_numpy(), kind="stable")
    numbers = np.empty(len(values), dtype=np.int64)
    for number, rows in enumerate(np.array_split(order, bins), start=1):
        numbers[rows] = number
    return pd.Series(numbers, index=values.index)
