"""Agreement between two groups of participants: the ceiling for any model (morcela, §3.4).

The paper splits the judgments of each sentence at random into two groups and correlates the
groups' means, but does not say how the split was drawn. Each reading here is one `Definition`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.stats.resampling import interval, tails

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

CELLS_AT_ONCE = 2**21
MINIMUM_ITEMS = 3


class Judgments(NamedTuple):
    """All judgments, sorted by item; N judgments of I items by P participants.

    `item` and `participant` (N,) int number them from 0; `start` and `size` (I,) int give each
    item's first row and its number of rows; `values` holds "z" and "rating", (N,) float64.
    """

    item: NDArray[np.int64]
    participant: NDArray[np.int64]
    start: NDArray[np.int64]
    size: NDArray[np.int64]
    values: dict[str, Array]


class Shuffle(NamedTuple):
    """The chance behind D draws, which all definitions share.

    `rank`, (D, N) int: a random order of each item's judgments, from 0. `coin`, (D, N) bool.
    `participant_rank`, (D, P) int: a random order of all participants. `cut`, (D, I) in [0, 1).
    """

    rank: NDArray[np.int64]
    coin: Mask
    participant_rank: NDArray[np.int64]
    cut: Array


Assignment = Callable[[Judgments, Shuffle], tuple[Mask, Mask]]


class Definition(NamedTuple):
    """One reading of 'two groups': who is in which, (D, N) bool each, and of what the mean is."""

    description: str
    assign: Assignment
    value: str = "z"
    stepped_up: bool = False


def equal_halves(judgments: Judgments, shuffle: Shuffle) -> tuple[Mask, Mask]:
    """Halve each item's judgments; of an odd number the second group gets one more."""
    first = shuffle.rank < (judgments.size // 2)[judgments.item]
    return first, ~first


def independent(judgments: Judgments, shuffle: Shuffle) -> tuple[Mask, Mask]:
    """Toss a coin for each judgment."""
    return shuffle.coin, ~shuffle.coin


def participant_halves(judgments: Judgments, shuffle: Shuffle) -> tuple[Mask, Mask]:
    """Halve the participants, whichever items each of them judged."""
    participants = shuffle.participant_rank.shape[1]
    first = (shuffle.participant_rank < participants // 2)[:, judgments.participant]
    return first, ~first


def uneven(judgments: Judgments, shuffle: Shuffle) -> tuple[Mask, Mask]:
    """Cut each item's shuffled judgments at a random place, leaving at least one on each side."""
    cut = 1 + np.floor(shuffle.cut * (judgments.size - 1)).astype(np.int64)
    first = shuffle.rank < cut[:, judgments.item]
    return first, ~first


def groups_of(size: int) -> Assignment:
    """Return the assignment of `size` judgments of each item that has enough to either group."""

    def assign(judgments: Judgments, shuffle: Shuffle) -> tuple[Mask, Mask]:
        enough = (judgments.size >= 2 * size)[judgments.item]
        first = shuffle.rank < size
        return first, enough & ~first & (shuffle.rank < 2 * size)

    return assign


def against_rest(size: int) -> Assignment:
    """Return the assignment of `size` judgments to one group and of all others to the other."""

    def assign(judgments: Judgments, shuffle: Shuffle) -> tuple[Mask, Mask]:
        first = shuffle.rank < size
        return first, ~first

    return assign


DEFINITIONS: dict[str, Definition] = {
    "equal_halves": Definition(
        "each sentence's judgments (z) halved at random", equal_halves),
    "raw_equal_halves": Definition(
        "each sentence's judgments (raw ratings) halved at random", equal_halves, "rating"),
    "independent_assignment": Definition(
        "each judgment (z) put into either group by a fair coin", independent),
    "raw_independent_assignment": Definition(
        "each judgment (raw rating) put into either group by a fair coin", independent, "rating"),
    "participant_halves": Definition(
        "the participants halved at random (z)", participant_halves),
    "raw_participant_halves": Definition(
        "the participants halved at random (raw ratings)", participant_halves, "rating"),
    "uneven_groups": Definition(
        "each sentence's shuffled judgments (z) cut at a random place", uneven),
    "single_judgment_per_group": Definition(
        "two judgments (z) of each sentence, one in each group", groups_of(1)),
    "four_judgments_per_group": Definition(
        "eight judgments (z) of each sentence, four in each group", groups_of(4)),
    "five_judgments_per_group": Definition(
        "ten judgments (z) of each sentence, five in each group", groups_of(5)),
    "single_judgment_against_rest": Definition(
        "one judgment (z) of each sentence against the mean of its others", against_rest(1)),
    "three_judgments_against_rest": Definition(
        "three judgments (z) of each sentence against the mean of its others", against_rest(3)),
    "spearman_brown": Definition(
        "equal_halves stepped up to all judgments, 2r / (1 + r)", equal_halves, stepped_up=True),
}  # fmt: skip


def split_half(
    ratings: pd.DataFrame, *, draws: int = 200, seed: int = 0, confidence: float = 0.95
) -> pd.DataFrame:
    """Correlate the item means of two random groups of judgments, by every definition.

    `ratings` has one judgment a row: participant_id, item_id, rating, z (schema `ratings`).
    Items of which a group has no judgment are left out of that draw. Returns one row a
    definition with columns definition, description, r (Pearson's r, mean over draws), r_low,
    r_high (central interval of the draws: the luck of one split, not sampling error), draws. A
    definition for which a draw leaves fewer than three items, or means that do not vary, is left
    out and logged. All definitions share the same draws. (morcela, §3.4)

    Raises LingprobError if a column is missing, a value is not finite, or an id is missing.
    """
    if draws < 1 or not 0 < confidence < 1:
        raise LingprobError(
            f"draws={draws}, confidence={confidence}: need draws >= 1 and 0 < confidence < 1."
        )
    judgments = number_judgments(ratings)
    drawn: dict[str, list[Array]] = {name: [] for name in DEFINITIONS}
    for shuffle in shuffles(judgments, draws, np.random.default_rng(seed)):
        for name, definition in DEFINITIONS.items():
            drawn[name].append(_correlations(judgments, definition, shuffle))
    rows = []
    for name, definition in DEFINITIONS.items():
        r = np.concatenate(drawn[name])
        if np.isnan(r).any():
            logger.warning("%s: too few judgments an item or too little variation", name)
            continue
        low, high = interval(r, tails(confidence))
        rows.append((name, definition.description, float(r.mean()), low, high, draws))
    columns = ["definition", "description", "r", "r_low", "r_high", "draws"]
    return pd.DataFrame(rows, columns=columns)


def standardise_ratings(ratings: pd.DataFrame) -> pd.Series:
    """Return each rating's z-score within its participant (standard deviation with n - 1).

    `ratings` has columns participant_id and rating; the result, float64, has its index. Give all
    that a participant judged, fillers included, as the published z-scores do. (morcela, §3.3)

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
            f"participant {participant!r}: the ratings do not vary, so that they have no z-score. "
            "Leave this participant out."
        )
    return ((ratings["rating"] - by_participant.transform("mean")) / sd).rename("z")


def number_judgments(ratings: pd.DataFrame) -> Judgments:
    """Sort a table of judgments by item and number its items and participants."""
    _check_columns(ratings, ["participant_id", "item_id", "rating", "z"])
    for column in ("rating", "z"):
        _check_finite(ratings, column)
    item, _ = pd.factorize(ratings["item_id"])
    participant, _ = pd.factorize(ratings["participant_id"])
    for column, numbers in (("item_id", item), ("participant_id", participant)):
        if (numbers < 0).any():
            row = int((numbers < 0).argmax())
            raise LingprobError(f"ratings, column {column!r}, row {row}: the id is missing.")
    order = np.argsort(item, kind="stable")
    size = np.bincount(item)
    return Judgments(
        item=item[order],
        participant=participant[order],
        start=np.cumsum(size) - size,
        size=size,
        values={name: ratings[name].to_numpy(np.float64)[order] for name in ("rating", "z")},
    )


def shuffles(judgments: Judgments, draws: int, generator: np.random.Generator) -> Iterator[Shuffle]:
    """Yield the chance behind `draws` splits, few enough draws at once to bound memory."""
    item, start = judgments.item, judgments.start
    participants = int(judgments.participant.max()) + 1
    at_once = max(1, CELLS_AT_ONCE // len(item))
    for done in range(0, draws, at_once):
        block = min(at_once, draws - done)
        # Sorting item number + random key keeps each item's rows together and shuffles them.
        order = np.argsort(item + generator.random((block, len(item))), axis=1)
        yield Shuffle(
            rank=order - start[item],
            coin=generator.random((block, len(item))) < 0.5,
            participant_rank=np.argsort(generator.random((block, participants)), axis=1),
            cut=generator.random((block, len(judgments.size))),
        )


def _correlations(judgments: Judgments, definition: Definition, shuffle: Shuffle) -> Array:
    """Return r, (D,) float64, of the two groups' item means; NaN where it is undefined."""
    values = judgments.values[definition.value]
    first, second = (
        _item_means(judgments, values, mask) for mask in definition.assign(judgments, shuffle)
    )
    usable = np.isfinite(first) & np.isfinite(second)
    n = usable.sum(axis=1)
    deviations = []
    for means in (first, second):
        kept = np.where(usable, means, 0.0)
        centred = kept - kept.sum(axis=1, keepdims=True) / np.maximum(n, 1)[:, None]
        deviations.append(np.where(usable, centred, 0.0))
    x, y = deviations
    with np.errstate(invalid="ignore", divide="ignore"):
        r = (x * y).sum(axis=1) / np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    r[n < MINIMUM_ITEMS] = np.nan
    return 2 * r / (1 + r) if definition.stepped_up else r


def _item_means(judgments: Judgments, values: Array, mask: Mask) -> Array:
    """Return means (D, I) of the masked judgments by item; NaN where a group is empty."""
    sums = np.add.reduceat(np.where(mask, values, 0.0), judgments.start, axis=1)
    counts = np.add.reduceat(mask, judgments.start, axis=1, dtype=np.int64)
    with np.errstate(invalid="ignore"):
        return sums / counts


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
