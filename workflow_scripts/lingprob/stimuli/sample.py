"""A seeded sample of a data set's pairs, before anything is scored."""

from __future__ import annotations

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError


def sample_at_most(
    stimuli: pd.DataFrame, ratings: pd.DataFrame, pairs: int, seed: int
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return so many pairs with the judgments of their sentences, or all where there are fewer."""
    if stimuli["pair_id"].fillna(stimuli["item_id"]).nunique() <= pairs:
        return stimuli, ratings
    drawn = sample_pairs(stimuli, pairs, seed)
    return drawn, ratings[ratings["item_id"].isin(drawn["item_id"])]


def sample_pairs(stimuli: pd.DataFrame, pairs: int, seed: int) -> pd.DataFrame:
    """Return the rows of a random sample of pairs, both sentences of each, in their order.

    Every paradigm gives a number of pairs in proportion to its size; where that is no whole number
    chance decides which paradigms give one more. A sentence without a pair is drawn alone. Pairs of
    identical sentences are not drawn; the counts of a data set are taken from the whole of it.

    Raises LingprobError if there are not so many pairs.
    """
    unit = stimuli["pair_id"].fillna(stimuli["item_id"])
    differs = stimuli.groupby(unit)["text"].nunique().eq(stimuli.groupby(unit).size())
    drawable = stimuli.assign(unit=unit)[unit.map(differs).to_numpy()]
    drawable = drawable.drop_duplicates("unit")
    if pairs > len(drawable):
        raise LingprobError(
            f"a sample of {pairs} pairs was asked for, and there are {len(drawable)}. Lower "
            "string_probability.pairs_per_dataset."
        )
    rng = np.random.default_rng(seed)
    groups = list(drawable.groupby(drawable["paradigm"].fillna(""), sort=True)["unit"])
    sizes = allotted(np.array([len(units) for _, units in groups]), pairs, rng)
    drawn = [
        rng.choice(units.to_numpy(), size=size, replace=False)
        for (_, units), size in zip(groups, sizes, strict=True)
    ]
    return stimuli[unit.isin(np.concatenate(drawn)).to_numpy()].reset_index(drop=True)


def allotted(available: np.ndarray, total: int, rng: np.random.Generator) -> np.ndarray:
    """Share `total` among groups in proportion to their sizes, (n_groups,) int each.

    Whole parts first; the groups with the largest remainders, in random order where these are the
    same, get one more.
    """
    share = total * available / available.sum()
    sizes = np.floor(share + 1e-9).astype(int)
    order = rng.permutation(len(available))
    by_remainder = order[np.argsort(-(share - sizes)[order].round(9), kind="stable")]
    sizes[by_remainder[: total - sizes.sum()]] += 1
    return sizes
