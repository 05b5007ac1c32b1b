"""Agreement between two groups of participants: a ceiling for any model (morcela, §3.4).

Tjuatja et al. (2025) correlate the means of two random groups of each sentence's judgments, without
further details. So judgments or participants are halved, as z-scores or raw ratings.
"""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import refuse_rows
from lingprob.stats.least_squares import finite_column
from lingprob.stats.resampling import correlation, interval, unit_numbers

Array = NDArray[np.float64]
DEFINITIONS = {
    "equal_halves": "each sentence's judgments (z unless `standardise: false`) halved at random",
    "raw_equal_halves": "each sentence's judgments (raw ratings) halved at random",
    "participant_halves": "the participants halved at random (z unless `standardise: false`)",
    "raw_participant_halves": "the participants halved at random (raw ratings)",
}
VALUES = ["z", "rating"]


def split_half(ratings: pd.DataFrame, *, draws: int = 200, seed: int = 0) -> pd.DataFrame:
    """Return Pearson's r between the item means of two random groups of judgments.

    `ratings` is a `ratings` table. Returns one row for each of the DEFINITIONS, which share the
    random splits: definition, description, r (mean over draws), r_low and r_high (95% of the draws:
    variation between splits, not sampling error), and draws. A draw leaves out items that have no
    judgment in one group. Definitions with an undefined r, because of fewer than three items or
    constant means, are left out. (morcela, §3.4)
    """
    ids = ("item_id", "participant_id")
    item, participant = (unit_numbers(name, ratings[name], len(ratings)) for name in ids)
    values = np.column_stack([finite_column(ratings, name) for name in VALUES])
    size, generator = np.bincount(item), np.random.default_rng(seed)
    start = np.cumsum(size) - size
    r = np.empty((draws, len(DEFINITIONS)))
    for draw in range(draws):
        # Sorting item number + random key keeps each item's judgments together and shuffles them.
        order = np.argsort(item + generator.random(len(item)))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order)) - start[item[order]]
        of_participants = generator.permutation(participant.max() + 1)
        # If the number of judgments is odd, the second group gets one more.
        halves = (
            rank < (size // 2)[item],
            (of_participants < len(of_participants) // 2)[participant],
        )
        r[draw] = [one for first in halves for one in _correlations(item, values, first)]
    rows = [
        (name, description, float(of_name.mean()), *interval(of_name), draws)
        for (name, description), of_name in zip(DEFINITIONS.items(), r.T, strict=True)
        if np.isfinite(of_name).all()
    ]
    columns = ["definition", "description", "r", "r_low", "r_high", "draws"]
    return pd.DataFrame(rows, columns=columns)


def standardise_ratings(ratings: pd.DataFrame) -> pd.Series:
    """Return each rating's z-score within its participant (standard deviation with n - 1).

    `ratings` has participant_id and rating of all judgments, fillers included, as for the published
    z-scores (morcela, §3.3). The result is a float64 Series with the same index. Raises
    LingprobError if a rating is missing or a participant's ratings do not vary.
    """
    finite_column(ratings, "rating")
    by_participant = ratings.groupby("participant_id", sort=False)["rating"]
    sd = by_participant.transform("std")
    refuse_rows(
        ~(sd > 0).to_numpy(),
        "participant {participant_id!r}: the ratings do not vary, so they have no z-score. Leave "
        "this participant out.",
        ratings,
    )
    return ((ratings["rating"] - by_participant.transform("mean")) / sd).rename("z")


def _correlations(item: NDArray, values: Array, first: NDArray[np.bool_]) -> list[float]:
    """Return r between the item means of two groups, for each column of values (n, k).

    `item` (n,) is the item of each judgment, and `first` (n,) is true in the first group.
    """
    sums, counts = np.zeros((2, 2, item.max() + 1, values.shape[1]))
    for group, members in enumerate((first, ~first)):
        np.add.at(sums[group], item[members], values[members])
        np.add.at(counts[group], item[members], 1)
    usable = (counts > 0).all(axis=(0, 2))
    means = sums[:, usable] / counts[:, usable]
    return [correlation(*means[..., column]) for column in range(values.shape[1])]
