"""The demo's minimal pairs, written for this project, with simulated ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.demo import MINIMAL_PAIRS
from lingprob.stimuli.checks import two_sentences_a_pair

PARTICIPANTS = 24


def parse(
    dataset: str, entry: dict[str, Any], directory: Path, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the pairs with ratings that nobody gave: every row says `simulated`."""
    pairs = pd.read_csv(MINIMAL_PAIRS)
    stimuli = two_sentences_a_pair(
        pd.DataFrame(
            {
                "pair_id": pairs["pair_id"],
                "phenomenon": pairs["phenomenon"],
                "paradigm": pairs["paradigm"],
                "good_id": pairs["pair_id"] + ".good",
                "good_text": pairs["good"],
                "good_rating": np.nan,
                "bad_id": pairs["pair_id"] + ".bad",
                "bad_text": pairs["bad"],
                "bad_rating": np.nan,
            }
        )
    ).assign(language="en", rating_source="simulated")
    ratings = simulate_ratings(stimuli, seed)
    means = ratings.groupby("item_id")["z"].mean()
    return stimuli.assign(rating=means.reindex(stimuli["item_id"]).to_numpy()), ratings


def simulate_ratings(stimuli: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Simulate 24 participants who rate every sentence from 1 to 7.

    A sentence's latent acceptability is +1 or -1 by grammaticality, shifted by its paradigm and
    by the sentence; a participant has a bias, a use of the scale and noise. No language model is
    involved, so the ratings cannot favour one.
    """
    rng = np.random.default_rng(seed)
    paradigms = stimuli["paradigm"].astype("category").cat.codes.to_numpy()
    direction = np.where(stimuli["grammatical"], 1.0, -1.0)
    strength = 1.0 + 0.3 * rng.standard_normal(paradigms.max() + 1)[paradigms]
    latent = direction * strength + 0.5 * rng.standard_normal(len(stimuli))
    bias = 0.5 * rng.standard_normal((PARTICIPANTS, 1))
    spread = 1.3 * np.exp(0.2 * rng.standard_normal((PARTICIPANTS, 1)))
    noise = 1.2 * rng.standard_normal((PARTICIPANTS, len(stimuli)))
    rating = np.clip(np.round(4 + bias + spread * latent + noise), 1, 7)
    z = (rating - rating.mean(axis=1, keepdims=True)) / rating.std(axis=1, ddof=1, keepdims=True)
    participants = [f"simulated-{number + 1:02d}" for number in range(PARTICIPANTS)]
    return pd.DataFrame(
        {
            "participant_id": np.repeat(participants, len(stimuli)),
            "item_id": np.tile(stimuli["item_id"].to_numpy(), PARTICIPANTS),
            "rating": rating.ravel(),
            "z": z.ravel(),
        }
    )
