"""Parse the demo's minimal pairs, written for this project, and simulate ratings of them."""

from pathlib import Path

import numpy as np
import pandas as pd

from lingprob.demo import MINIMAL_PAIRS
from lingprob.stimuli.tables import Entry, Parsed, pairs_as_sentences

PARTICIPANTS = 24
# The model of the ratings (string_probability, §2.2 and Prediction 2). A message of N words has
# log P(m) = -6 N + 8 Normal(0, 1) nats. Each kind of error has a probability e, by how often
# speakers make it: often in agreement and licensing, at times in word forms, rarely in structure.
NATS_PER_WORD, MESSAGE_SD = -6.0, 8.0
ERRORS = {
    np.exp(-2.0): "anaphor_agreement binding determiner_noun_agreement subject_verb_agreement "
    "npi_licensing quantifiers",
    np.exp(-4.0): "irregular_forms pronoun_case question_inversion",
    np.exp(-6.0): "argument_structure auxiliary_order control_and_raising ellipsis "
    "filler_gap_dependency island_effects",
}
ERROR_PROBABILITY = {name: e for e, names in ERRORS.items() for name in names.split()}
# Change of a rating (1 to 7) per nat of log P(m), and per nat of the error's log-probability.
MESSAGE_POINTS, ERROR_POINTS = 0.03, 0.6
# Other variation of ratings: sentences, participants (bias, and log use of the scale) and trials.
SENTENCE_SD, BIAS_SD, USE_SD, TRIAL_SD = 0.5, 0.5, 0.2, 1.2
ACCEPTABLE = 5.2


def minimal_pairs(dataset: str, entry: Entry, directory: Path, seed: int) -> Parsed:
    """Return `stimuli` and simulated `ratings` of the demo (a parser, see `lingprob.stimuli`)."""
    stimuli = pairs_as_sentences(pd.read_csv(MINIMAL_PAIRS), "en", "simulated")
    ratings = simulate_ratings(stimuli, seed)
    means = ratings.groupby("item_id")["z"].mean()
    return stimuli.assign(rating=means.reindex(stimuli["item_id"]).to_numpy()), ratings


def simulate_ratings(stimuli: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Return a `ratings` table of 24 simulated participants who rate every sentence from 1 to 7.

    The ratings follow the string-probability paper's model: a sentence is less acceptable the less
    likely its message, which both sentences of a pair share, and the less likely its error. Each
    pair has one error. No language model is involved, so the ratings cannot favour one.
    """
    rng = np.random.default_rng(seed)
    good = stimuli[stimuli["grammatical"].astype(bool)].set_index("pair_id")
    words = good["text"].str.split().str.len()
    message = NATS_PER_WORD * words + MESSAGE_SD * rng.standard_normal(len(good))
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
