"""Measure distances between the sentences of each pair, and filter and bin pairs by them."""

import operator
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein

from lingprob.errors import LingprobError

Embed = Callable[[list[str]], NDArray[np.float32]]
COMPARISONS = {"below": operator.lt, "at_most": operator.le}
POPULATIONS = ("rated", "all")


def pair_texts(stimuli: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return the texts of each pair, `good` and `bad`, by pair id in the order of the table.

    Raises LingprobError that names the data set and a pair without exactly one sentence of each
    kind.
    """
    paired = stimuli[stimuli["pair_id"].notna()]
    ids = paired["pair_id"].drop_duplicates()
    columns = {}
    for name, kind in (("good", "grammatical"), ("bad", "ungrammatical")):
        side = paired[paired["grammatical"].eq(name == "good")]
        count = side["pair_id"].value_counts().reindex(ids, fill_value=0)
        wrong = count[count != 1]
        if len(wrong):
            raise LingprobError(
                f"data set {dataset!r}, pair {wrong.index[0]!r}: {wrong.iloc[0]} {kind} sentences "
                f"({len(wrong)} such pairs). A pair has one of each: complete or delete it."
            )
        columns[name] = side.set_index("pair_id")["text"]
    return pd.DataFrame(columns).loc[ids]


def measure_pairs(stimuli: pd.DataFrame, dataset: str, embed: Embed) -> pd.DataFrame:
    """Return a `minimalness` table: edit distances and cosine distance of each pair.

    The cosine distance is one minus the dot product of the two sentences' embeddings, which
    `embed` returns normalised to length one, (n, d). Each distinct sentence is embedded once.
    Raises LingprobError for a data set without pairs. (string_probability, §4.2 and §5.1)
    """
    texts = pair_texts(stimuli, dataset)
    if texts.empty:
        raise LingprobError(
            f"data set {dataset!r}: no pairs. Give the column `pair`, or take it out of "
            "string_probability.prediction_1 and prediction_2."
        )
    distinct = pd.Index(pd.unique(texts.to_numpy().ravel()))
    embedded = embed(list(distinct)).astype(np.float64)
    good, bad = (embedded[distinct.get_indexer(texts[side])] for side in ("good", "bad"))
    # Rounding makes the distance of a sentence from itself slightly negative.
    cosine = np.maximum(1 - np.einsum("ij,ij->i", good, bad), 0.0)
    return edit_distances(texts).assign(cosine_distance=cosine).rename_axis("pair_id").reset_index()


def edit_distances(texts: pd.DataFrame) -> pd.DataFrame:
    """Return Levenshtein distances of texts `good` and `bad`, in characters and in words."""
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
    """An interpretation of "edit distance below the 75th quantile across all pairs" (§5.1).

    The limit is a quantile of the distances, in `characters` or `words`, of `rated` pairs (with
    both ratings) or `all`. Kept distances are `below` or `at_most` the limit. The defaults keep the
    paper's 1,883 pairs of LI.
    """

    unit: str = "characters"
    quantile: float = 0.75
    comparison: str = "at_most"
    population: str = "rated"


PAPER_FILTER = EditFilter()


def edit_threshold(stimuli: pd.DataFrame, distances: pd.DataFrame, reading: EditFilter) -> float:
    """Return the limit of the edit distance under an interpretation (`reading`) of the filter.

    Raises LingprobError if the population is of rated pairs and no pair has both ratings.
    """
    edits = distances.set_index("pair_id")[f"levenshtein_{reading.unit}"]
    if reading.population == "rated":
        rated = stimuli["rating"].notna().groupby(stimuli["pair_id"]).all()
        edits = edits[rated.reindex(edits.index, fill_value=False)]
    if edits.empty:
        raise LingprobError(
            "the filter by edit distance: no pair has both ratings. Take the data set out of "
            "string_probability.prediction_2."
        )
    return float(edits.quantile(reading.quantile))


def different_pairs(stimuli: pd.DataFrame, dataset: str) -> pd.Index:
    """Return the ids of pairs whose two sentences differ, in the order of the table."""
    texts = pair_texts(stimuli, dataset)
    return texts.index[texts["good"] != texts["bad"]]


def near_pairs(
    stimuli: pd.DataFrame, dataset: str, distances: pd.DataFrame, reading: EditFilter = PAPER_FILTER
) -> pd.Index:
    """Return the ids of `different_pairs` that the filter keeps, given a `minimalness` table."""
    different = different_pairs(stimuli, dataset)
    edits = distances.set_index("pair_id")[f"levenshtein_{reading.unit}"].reindex(different)
    threshold = edit_threshold(stimuli, distances, reading)
    return different[COMPARISONS[reading.comparison](edits, threshold).to_numpy()]


def equal_bins(values: pd.Series, bins: int) -> pd.Series:
    """Return the bin of each value, int from 1. The sizes of bins differ by at most one.

    The larger bins come first. Equal values at a border are put into either bin in the order of the
    rows. (string_probability, §4.2)
    """
    order = np.argsort(values.to_numpy(), kind="stable")
    numbers = np.empty(len(values), dtype=np.int64)
    for number, rows in enumerate(np.array_split(order, bins), start=1):
        numbers[rows] = number
    return pd.Series(numbers, index=values.index)
