"""The demo's minimal pairs, written for this project, with simulated ratings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lingprob.demo import MINIMAL_PAIRS
from lingprob.stimuli.tables import two_sentences_a_pair

PARTICIPANTS = 24
# The model of the ratings (string_probability, §2.2 and Prediction 2). A message of N words has
# log P(m) = -6 N + 8 Normal(0, 1) nats; an error of a kind has probability e, by how often speakers
# make it: agreement and licensing slip, the form of a word is missed at times, structure hardly.
NATS_A_WORD, MESSAGE_SD = -6.0, 8.0
ERRORS = {
    "slip": (
        np.exp(-2.0),
        "anaphor_agreement binding determiner_noun_agreement subject_verb_agreement npi_licensing "
        "quantifiers",
    ),
    "form": (np.exp(-4.0), "irregular_forms pronoun_case question_inversion"),
    "structure": (
        np.exp(-6.0),
        "argument_structure auxiliary_order control_and_raising ellipsis filler_gap_dependency "
        "island_effects",
    ),
}
ERROR_PROBABILITY = {name: e for e, names in ERRORS.values() for name in names.split()}
# Points of the scale of 7 that a nat of log P(m), or of the log-probability of the error, is worth.
MESSAGE_POINTS, ERROR_POINTS = 0.03, 0.6
# What else varies, points: sentences, participants (bias; use of the scale, log) and trials.
SENTENCE_SD, BIAS_SD, USE_SD, TRIAL_SD = 0.5, 0.5, 0.2, 1.2
ACCEPTABLE = 5.2


def minimal_pairs(
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

    By the paper's own model of ratings: a sentence is the less acceptable the less likely its
    message, which the two sentences of a pair share, and the less likely the error that takes the
    message to it. Each pair has one error. No language model is involved, so that the ratings
    cannot favour one; they agree with one as far as it finds the same kinds of errors unlikely.
    """
    rng = np.random.default_rng(seed)
    good = stimuli[stimuli["grammatical"].astype(bool)].set_index("pair_id")
    words = good["text"].str.split().str.len()
    message = NATS_A_WORD * words + MESSAGE_SD * rng.standard_normal(len(good))
    of_item = message.reindex(stimuli["pair_id"]).to_numpy()
    error = np.log(stimuli["phenomenon"].map(ERROR_PROBABILITY).to_numpy(dtype=float))
    latent = MESSAGE_POINTS * (of_item - message.mean())
    latent += ERROR_POINTS * np.where(stimuli["grammatical"], 0.0, error)
    latent += SENTENCE_SD * rng.standard_normal(len(stimuli))
    bias = BIAS_SD * rng.standard_normal((PARTICIPANTS, 1))
    use = np.exp(USE_SD * rng.standard_normal((PARTICIPANTS, 1)))
    noise = TRIAL_SD * rng.standard_normal((PARTICIPANTS, len(stimuli)))
    rating = np.clip(np.round(ACCEPTABLE + bias + use * latent + noise), 1, 7)
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
