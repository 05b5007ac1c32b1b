"""Agreement between two groups of participants: a ceiling for any model (morcela, §3.4).

The paper splits each sentence's judgments at random into two groups and correlates the groups'
means, but does not say how. So judgments or participants are halved, as z-scores or raw ratings.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.stats.resampling import correlation, interval, tails

Array = NDArray[np.float64]
DEFINITIONS = {
    "equal_halves": "each sentence's judgments (z) halved at random",
    "raw_equal_halves": "each sentence's judgments (raw ratings) halved at random",
    "participant_halves": "the participants halved at random (z)",
    "raw_participant_halves": "the participants halved at random (raw ratings)",
}
VALUES = ["z", "rating"]


def split_half(
    ratings: pd.DataFrame, *, draws: int = 200, seed: int = 0, confidence: float = 0.95
) -> pd.DataFrame:
    """Correlate the item means of two random groups of judgments, by each definition.

    An item is left out of a draw that leaves one of its groups without a judgment. All definitions
    share the draws.

    Args:
        ratings: one row per judgment: participant_id, item_id, rating, z (schema `ratings`).
        draws: number of random splits.
        seed: of the splits.
        confidence: of the interval.

    Returns one row per definition: definition, description, r (mean over draws), r_low and r_high
    (interval of the draws: spread over splits, not sampling error), and draws. Definitions with an
    undefined r, because of fewer than three items or constant means, are left out. (morcela, §3.4)

    Raises LingprobError if a column is missing, a value is not finite, or an id is missing.
    """
    if draws < 1 or not 0 < confidence < 1:
        raise LingprobError(
            f"draws={draws}, confidence={confidence}: need draws >= 1 and 0 < confidence < 1."
        )
    item, participant = _numbers(ratings)
    values = ratings[VALUES].to_numpy(np.float64)
    size, generator = np.bincount(item), np.random.default_rng(seed)
    start = np.cumsum(size) - size
    r = np.empty((draws, len(DEFINITIONS)))
    for draw in range(draws):
        # Sorting item number + random key keeps each item's judgments together and shuffles them.
        order = np.argsort(item + generator.random(len(item)))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order)) - start[item[order]]
        of_participants = generator.permutation(participant.max() + 1)
        # Of an odd number of judgments, the second group gets one more.
        halves = (
            rank < (size // 2)[item],
            (of_participants < len(of_participants) // 2)[participant],
        )
        r[draw] = [one for first in halves for one in _correlations(item, values, first)]
    rows = [
        (name, description, float(of_name.mean()), *interval(of_name, tails(confidence)), draws)
        for (name, description), of_name in zip(DEFINITIONS.items(), r.T, strict=True)
        if np.isfinite(of_name).all()
    ]
    columns = ["definition", "description", "r", "r_low", "r_high", "draws"]
    return pd.DataFrame(rows, columns=columns)


def standardise_ratings(ratings: pd.DataFrame) -> pd.Series:
    """Return each rating's z-score within its participant (standard deviation with n - 1).

    Give all judgments of a participant, fillers included, as the published z-scores do. The result,
    float64, has the index of `ratings`, which has participant_id and rating. (morcela, §3.3)

    Raises LingprobError if a rating is missing or a participant's ratings do not vary.
    """
    _check_columns(ratings, ["participant_id", "rating"])
    _check_finite(ratings, "rating")
    by_participant = ratings.groupby("participant_id", sort=False)["rating"]
    sd = by_participant.transform("std")
    constant = ~(sd > 0).to_numpy()
    if constant.any():
        participant = ratings["participant_id"].iloc[int(constant.argmax())]
        raise LingprobError(
            f"participant {participant!r}: the ratings do not vary, so they have no z-score. "
            "Leave this participant out."
        )
    return ((ratings["rating"] - by_participant.transform("mean")) / sd).rename("z")


def _correlations(item: NDArray, values: Array, first: NDArray[np.bool_]) -> list[float]:
    """Return r between the item means of two groups, for each column of values (n, k)."""
    sums, counts = np.zeros((2, 2, item.max() + 1, values.shape[1]))
    for group, members in enumerate((first, ~first)):
        np.add.at(sums[group], item[members], values[members])
        np.add.at(counts[group], item[members], 1)
    usable = (counts > 0).all(axis=(0, 2))
    means = sums[:, usable] / counts[:, usable]
    return [correlation(*means[..., column]) for column in range(values.shape[1])]


def _numbers(ratings: pd.DataFrame) -> tuple[NDArray, NDArray]:
    """Return the numbers of each judgment's item and participant, (n,) int from 0; check both."""
    _check_columns(ratings, ["participant_id", "item_id", *VALUES])
    for column in VALUES:
        _check_finite(ratings, column)
    numbers = []
    for column in ("item_id", "participant_id"):
        number, _ = pd.factorize(ratings[column])
        if (number < 0).any():
            row = int((number < 0).argmax())
            raise LingprobError(f"ratings, column {column!r}, row {row}: the id is missing.")
        numbers.append(number)
    return numbers[0], numbers[1]


def _check_columns(ratings: pd.DataFrame, needed: list[str]) -> None:
    missing = [column for column in needed if column not in ratings.columns]
    if missing or not len(ratings):
        raise LingprobError(
            f"ratings: missing columns {missing}, {len(ratings)} rows; "
            f"need {needed} and at least one row."
        )


def _check_finite(ratings: pd.DataFrame, column: str) -> None:
    at_fault = ~np.isfinite(ratings[column].to_numpy(np.float64))
    if at_fault.any():
        raise LingprobError(
            f"ratings, column {column!r}, row {int(at_fault.argmax())}: the value is missing or "
            f"infinite ({int(at_fault.sum())} such rows). Drop missing judgments first."
        )
