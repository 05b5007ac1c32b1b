"""The vectorised splits against a loop over draws, items and judgments."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lingprob.stats import agreement
from lingprob.stats.agreement import split_half, standardise_ratings


@st.composite
def rating_tables(draw: st.DrawFn) -> pd.DataFrame:
    """Draw judgments by some participants of some items, unevenly many an item, in any order."""
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    items, participants = draw(st.integers(8, 20)), draw(st.integers(10, 14))
    judged = generator.random((items, participants)) < draw(st.sampled_from([0.5, 0.8, 1.0]))
    judged[:5] = True
    item, participant = np.nonzero(judged)
    rating = generator.integers(1, 8, len(item)) + item % 5
    table = pd.DataFrame(
        {
            "participant_id": [f"p{number}" for number in participant],
            "item_id": [f"i{number}" for number in item],
            "rating": rating.astype(float),
            "z": rating / 3 + generator.normal(size=len(item)),
        }
    )
    return table.sample(frac=1, random_state=draw(st.integers(0, 100)))


def in_first_group(name: str, rank: int, size: int, coin: bool, participant_first: bool,
                   cut: float) -> bool | None:  # fmt: skip
    """Say where a judgment goes: True, False, or None for nowhere."""
    kind = name.removeprefix("raw_")
    equal_groups = {"single": 1, "four": 4, "five": 5}
    if kind in ("equal_halves", "spearman_brown"):
        return rank < size // 2
    if kind == "independent_assignment":
        return coin
    if kind == "participant_halves":
        return participant_first
    if kind == "uneven_groups":
        return rank <= int(cut * (size - 1))
    if kind.endswith("against_rest"):
        return rank < {"single": 1, "three": 3}[kind.split("_")[0]]
    group = equal_groups[kind.split("_")[0]]
    return (rank < group) if size >= 2 * group and rank < 2 * group else None


def slow_split(ratings: pd.DataFrame, draws: int, seed: int) -> dict[str, list[float]]:
    judgments = agreement.number_judgments(ratings)
    r: dict[str, list[float]] = {name: [] for name in agreement.DEFINITIONS}
    for block in agreement.shuffles(judgments, draws, np.random.default_rng(seed)):
        half = block.participant_rank.shape[1] // 2
        for draw in range(len(block.rank)):
            for name, definition in agreement.DEFINITIONS.items():
                values = judgments.values[definition.value]
                first, second = [], []
                for item in range(judgments.item.max() + 1):
                    groups: tuple[list[float], list[float]] = ([], [])
                    rows = np.flatnonzero(judgments.item == item)
                    for row in rows:
                        there = in_first_group(
                            name, block.rank[draw, row], len(rows), block.coin[draw, row],
                            block.participant_rank[draw, judgments.participant[row]] < half,
                            block.cut[draw, item],
                        )  # fmt: skip
                        if there is not None:
                            groups[0 if there else 1].append(values[row])
                    if groups[0] and groups[1]:
                        first.append(np.mean(groups[0]))
                        second.append(np.mean(groups[1]))
                value = np.corrcoef(first, second)[0, 1]
                r[name].append(2 * value / (1 + value) if name == "spearman_brown" else value)
    return r


@pytest.mark.parametrize("cells_at_once", [2**21, 300])
@settings(deadline=None, max_examples=10)
@given(ratings=rating_tables(), seed=st.integers(0, 2**32 - 1))
def test_matches_a_loop_over_judgments(
    cells_at_once: int, ratings: pd.DataFrame, seed: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agreement, "CELLS_AT_ONCE", cells_at_once)
        table = split_half(ratings, draws=3, seed=seed, confidence=0.8).set_index("definition")
        expected = slow_split(ratings, 3, seed)
    assert set(table.index) == set(expected)
    for name, r in expected.items():
        row = table.loc[name, ["r", "r_low", "r_high"]].to_numpy(float)
        np.testing.assert_allclose(row, [np.mean(r), *np.percentile(r, [10, 90])], atol=1e-9)


@settings(deadline=None)
@given(rating_tables())
def test_z_scores_match_a_loop_over_participants(ratings: pd.DataFrame) -> None:
    z = standardise_ratings(ratings)
    assert (z.index == ratings.index).all()
    for participant in set(ratings.participant_id):
        own = ratings.rating[ratings.participant_id == participant].to_numpy()
        expected = (own - own.mean()) / np.sqrt(np.sum((own - own.mean()) ** 2) / (len(own) - 1))
        np.testing.assert_allclose(z[ratings.participant_id == participant], expected, atol=1e-12)
