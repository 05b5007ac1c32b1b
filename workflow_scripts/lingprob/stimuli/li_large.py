"""Rated pairs from Linguistic Inquiry, 2001 to 2010 (Sprouse et al. 2013; Mahowald et al. 2016)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli.checks import two_sentences_a_pair
from lingprob.stimuli.csv_files import read_csv_utf8
from lingprob.stimuli.linguistic_inquiry import judgments

PAIRS = "LI_Large_pairs.csv"
JUDGMENTS = "sprouse2013_LS/LI.ls.results.csv"
SIDES = {"good": ("Good ID", "grammatical"), "bad": ("Bad ID", "ungrammatical")}


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs with the mean of each sentence's z-scored Likert ratings, and judgments.

    104 pairs lack one or both ratings. A sentence that is in several pairs has an item in each. The
    two studies are the phenomena; an example that sentences are modelled on is a paradigm. Single
    judgments are published for the first study alone, whose means they must give.
    """
    pairs = read_csv_utf8(directory / PAIRS)
    pair_id = "pair." + pairs["pair_ID"].astype(str)
    columns = {"pair_id": pair_id, "phenomenon": pairs["source"]}
    columns["paradigm"] = pairs["Bad ID"].str.replace(r"\.\d+$", "", regex=True)
    published_ids = []
    for side, (published_id, name) in SIDES.items():
        columns[f"{side}_id"] = pair_id + f".{side}"
        columns[f"{side}_text"] = pairs[f"sentence_{name}"]
        columns[f"{side}_rating"] = pairs[f"LS_{name}"]
        ids = pairs[published_id].set_axis(columns[f"{side}_id"])
        published_ids.append(ids[(pairs["source"] == "Sprouse").to_numpy()])
    stimuli = two_sentences_a_pair(pd.DataFrame(columns))
    ratings = item_judgments(directory / JUDGMENTS, pd.concat(published_ids), stimuli)
    return stimuli.assign(language="en", rating_source="human"), ratings


def item_judgments(path: Path, published_ids: pd.Series, stimuli: pd.DataFrame) -> pd.DataFrame:
    """Return the judgments of the items that `published_ids` names, and check their means."""
    by_published_id = judgments(path, published_ids.drop_duplicates())
    items = published_ids.rename("published_id").rename_axis("item").reset_index()
    ratings = by_published_id.merge(items, left_on="item_id", right_on="published_id")
    ratings = ratings.drop(columns=["item_id", "published_id"]).rename(columns={"item": "item_id"})
    means = ratings.groupby("item_id")["z"].mean()
    stated = stimuli.set_index("item_id")["rating"].reindex(means.index)
    if not (means - stated).abs().max() < 1e-9:
        raise LingprobError(
            f"{path}: its mean z-scores are not the ratings in {PAIRS}; the two files do not "
            "belong together. Fetch them again."
        )
    return ratings[["participant_id", "item_id", "rating", "z"]]
