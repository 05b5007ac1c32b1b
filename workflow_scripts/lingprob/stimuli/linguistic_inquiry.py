"""Likert ratings of sentences from Linguistic Inquiry (Sprouse et al. 2013; morcela, §3.3)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.errors import LingprobError
from lingprob.stimuli.checks import two_sentences_a_pair
from lingprob.stimuli.csv_files import read_csv_utf8

PAIRS = "linguistic_inquiry_data.csv"
JUDGMENTS = "sprouse2013_LS/LI.ls.results.csv"


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return 725 pairs as 1,450 rated sentences, and every participant's judgments of them.

    The rating of a sentence is the mean of its z-scored judgments. The two files are joined on
    the item id in lower case, since they differ in the case of some author names.

    The pairs are those of the paper's file. Its filters (§3.3), run again on the raw files, give
    709 of them: tests/science/test_linguistic_inquiry.py says which they are not.
    """
    pairs = read_csv_utf8(directory / PAIRS)
    article = pairs["Good ID"].str.extract(r"^(\d+\.\d+\.[^.]+)")[0]
    stimuli = two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pairs["Good ID"] + " / " + pairs["Bad ID"],
                "phenomenon": article,
                "paradigm": pairs["Bad ID"].str.replace(r"\.\d+$", "", regex=True),
                "good_id": pairs["Good ID"],
                "good_text": pairs["Good Sentence"],
                "good_rating": pairs["Good Sentence LS"],
                "bad_id": pairs["Bad ID"],
                "bad_text": pairs["Bad Sentence"],
                "bad_rating": pairs["Bad Sentence LS"],
            }
        )
    ).assign(language="en", rating_source="human")
    ratings = judgments(directory / JUDGMENTS, stimuli["item_id"])
    recomputed = ratings.groupby("item_id")["z"].mean().reindex(stimuli["item_id"])
    difference = (recomputed.to_numpy() - stimuli["rating"]).abs().max()
    if not difference < 1e-9:
        raise LingprobError(
            f"{directory / JUDGMENTS}: its mean z-scores differ from the ratings in {PAIRS} by up "
            f"to {difference}; the two files do not belong together."
        )
    return stimuli, ratings


def judgments(path: Path, item_ids: pd.Series) -> pd.DataFrame:
    """Read single judgments of the given items; missing ones (62 in all) are left out."""
    raw = pd.read_csv(path, skiprows=5, encoding="latin-1").dropna(subset=["judgment"])
    by_lower_case = {item_id.lower(): item_id for item_id in item_ids}
    item_id = raw["item"].str.lower().map(by_lower_case)
    kept = item_id.notna()
    return pd.DataFrame(
        {
            "participant_id": raw["participant"].astype(str),
            "item_id": item_id,
            "rating": raw["judgment"].astype(float),
            "z": raw["zscores"],
        }
    )[kept].reset_index(drop=True)
