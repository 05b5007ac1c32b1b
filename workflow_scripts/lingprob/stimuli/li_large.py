"""Rated pairs from Linguistic Inquiry, 2001 to 2010 (Sprouse et al. 2013; Mahowald et al. 2016)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from lingprob.stimuli.checks import NO_RATINGS, two_sentences_a_pair


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs with the mean z-scored Likert rating of each sentence.

    The means were made from single judgments by the file's authors; 104 pairs lack one or both. A
    sentence that is in several pairs has an item in each. The two studies are the phenomena.
    """
    path = directory / entry["files"][0]["name"]
    pairs = pd.read_csv(path, encoding="utf-8")
    pair_id = "pair." + pairs["pair_ID"].astype(str)
    stimuli = two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pair_id,
                "phenomenon": pairs["source"],
                # The first study's pairs are named by no more than the study; its ids name the
                # example that a sentence is modelled on.
                "paradigm": pairs["Bad ID"].str.replace(r"\.\d+$", "", regex=True),
                "good_id": pair_id + ".good",
                "good_text": pairs["sentence_grammatical"],
                "good_rating": pairs["LS_grammatical"],
                "bad_id": pair_id + ".bad",
                "bad_text": pairs["sentence_ungrammatical"],
                "bad_rating": pairs["LS_ungrammatical"],
            }
        )
    ).assign(language="en", rating_source="human")
    return stimuli, NO_RATINGS
