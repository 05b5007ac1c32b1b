"""Data sets as linking functions meet them: sentences, their ratings and one model's scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd

from lingprob.errors import LingprobError, refuse_rows
from lingprob.tables import read_table

# A BOS policy and a unigram source.
Convention = tuple[str, str]


class DataSet(NamedTuple):
    """A data set's `stimuli` and one model's `sentence_scores` of them."""

    stimuli: pd.DataFrame
    scores: pd.DataFrame

    @property
    def rating_source(self) -> str:
        """Where its ratings are from."""
        return rating_source(self.stimuli)


def read_datasets(
    names: Iterable[str], stimuli: Iterable[str], scores: Iterable[str]
) -> dict[str, DataSet]:
    """Read data sets from the files of their tables, by name."""
    return {
        name: DataSet(read_table(items, "stimuli"), read_table(scored, "sentence_scores"))
        for name, items, scored in zip(names, stimuli, scores, strict=True)
    }


def under(convention: Convention, model: str, dataset: str, scores: pd.DataFrame) -> pd.DataFrame:
    """Return the sentence scores under a BOS policy and with a unigram source.

    Raises LingprobError where there are none.
    """
    bos, unigrams = convention
    found = scores[(scores["bos"] == bos) & (scores["unigrams"] == unigrams)]
    if found.empty:
        there = sorted(set(zip(scores["bos"], scores["unigrams"], strict=True)))
        raise LingprobError(
            f"data set {dataset!r}: {model} has scored it under {there}, not under {convention}, "
            "by which its linking functions are fitted. Name it in morcela.datasets or in "
            "morcela.predicted."
        )
    return found.reset_index(drop=True)


def rated_scores(dataset: str, stimuli: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Return sentence scores with what `stimuli` say of each sentence, in the order of `stimuli`.

    One order for all models gives them the same folds and resamples. Raises LingprobError if a
    sentence has no rating.
    """
    columns = ["item_id", "rating", "pair_id", "paradigm", "phenomenon"]
    about = stimuli[[name for name in columns if name in stimuli]]
    place = pd.Series(range(len(about)), index=about["item_id"])
    rated = scores.merge(about, on="item_id", how="left")
    refuse_rows(
        rated["rating"].isna(),
        "data set {dataset!r}, item {item_id!r}: no rating, and linking functions are fitted "
        "to ratings. Rate or drop it, or take the data set out of morcela.datasets.",
        rated,
        dataset=dataset,
    )
    order = rated["item_id"].map(place).argsort(kind="stable")
    return rated.iloc[order].reset_index(drop=True)


def rating_source(stimuli: pd.DataFrame) -> str:
    """Return `simulated` if any rating of a data set is, else `human`."""
    return "simulated" if (stimuli["rating_source"] == "simulated").any() else "human"
