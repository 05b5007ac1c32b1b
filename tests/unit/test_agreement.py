"""Agreement between groups of participants, by hand, by a loop and by variances."""

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.stats.agreement import DEFINITIONS, split_half, standardise_ratings


def crossed(values: np.ndarray) -> pd.DataFrame:
    """Return ratings in which participant j gives item i values[i, j], and z minus half of that."""
    items, participants = values.shape
    return pd.DataFrame(
        {
            "participant_id": [f"p{j}" for _ in range(items) for j in range(participants)],
            "item_id": [f"i{i}" for i in range(items) for _ in range(participants)],
            "rating": values.ravel().astype(float),
            "z": -values.ravel().astype(float) / 2,
        }
    )


def uneven(seed: int) -> pd.DataFrame:
    """Return judgments of 12 items by some of 9 participants, in any order."""
    generator = np.random.default_rng(seed)
    table = crossed(generator.integers(1, 8, (12, 9)) + np.arange(12)[:, None] % 5)
    table["z"] += generator.normal(size=len(table))
    return table.sample(frac=0.7, random_state=seed)


def slow_split(ratings: pd.DataFrame, draws: int, seed: int) -> dict[str, list[float]]:
    """Return r of each definition in each draw, by loops over items and judgments."""
    generator = np.random.default_rng(seed)
    items, participants = (ratings[name].unique() for name in ("item_id", "participant_id"))
    found: dict[str, list[float]] = {name: [] for name in DEFINITIONS}
    for _ in range(draws):
        key = dict(zip(ratings.index, generator.random(len(ratings)), strict=True))
        place = dict(zip(participants, generator.permutation(len(participants)), strict=True))
        for name in DEFINITIONS:
            column, means = "rating" if name.startswith("raw") else "z", []
            for item in items:
                rows = ratings[ratings["item_id"] == item]
                rows = rows.loc[sorted(rows.index, key=key.get)]
                first = np.arange(len(rows)) < len(rows) // 2
                if name.endswith("participant_halves"):
                    first = rows["participant_id"].map(place).to_numpy() < len(participants) // 2
                if first.any() and not first.all():
                    means.append([rows[column][first].mean(), rows[column][~first].mean()])
            found[name].append(np.corrcoef(np.array(means).T)[0, 1])
    return found


@pytest.mark.parametrize("seed", range(3))
def test_splits_match_a_loop_over_judgments(seed) -> None:
    ratings = uneven(seed)
    table = split_half(ratings, draws=5, seed=seed).set_index("definition")
    for name, r in slow_split(ratings, 5, seed).items():
        row = table.loc[name, ["r", "r_low", "r_high", "draws"]].to_numpy(float)
        np.testing.assert_allclose(row, [np.mean(r), *np.percentile(r, [2.5, 97.5]), 5])


def test_defaults_of_draws_and_seed() -> None:
    given = {"draws": 200, "seed": 0}
    pd.testing.assert_frame_equal(split_half(uneven(0)), split_half(uneven(0), **given))


def test_an_item_with_one_judgment_is_left_out() -> None:
    ratings = crossed(np.tile(np.arange(4)[:, None], (1, 2)))
    ratings.loc[6, ["rating", "z"]] = 100.0
    table = split_half(ratings.drop(index=7), draws=10)
    assert table.r.to_numpy() == pytest.approx(1)


def test_two_items_are_too_few_to_correlate() -> None:
    values = np.random.default_rng(0).normal(size=(3, 12))
    assert len(split_half(crossed(values), draws=3)) == len(DEFINITIONS)
    assert split_half(crossed(values[:2]), draws=3).empty


def test_standardised_ratings_by_hand() -> None:
    ratings = pd.DataFrame(
        {"participant_id": ["a", "b", "a", "b", "a"], "rating": [1.0, 4, 2, 6, 3]},
        index=[5, 9, 7, 8, 6],
    )
    root = np.sqrt(0.5)
    assert standardise_ratings(ratings).to_dict() == pytest.approx(
        {5: -1, 9: -root, 7: 0, 8: root, 6: 1}
    )


@pytest.mark.parametrize(("participants", "values", "message"), [
    ("aabb", [1.0, 1.0, 3.0, np.nan], "rating, row 3: nan"),
    ("bbaa", [4.0, 3.0, 2.0, 2.0], "participant 'a': the ratings do not vary"),
    ("aab", [1.0, 2.0, 3.0], "participant 'b'"),
])  # fmt: skip
def test_ratings_without_a_z_score_are_errors(participants, values, message) -> None:
    ratings = pd.DataFrame({"participant_id": list(participants), "rating": values})
    with pytest.raises(LingprobError, match=message):
        standardise_ratings(ratings)


def test_errors_name_column_and_row() -> None:
    ratings = crossed(np.arange(24).reshape(6, 4))
    with pytest.raises(LingprobError, match="unknown column 'z'"):
        split_half(ratings.drop(columns="z"))
    with pytest.raises(LingprobError, match=r"z, row 5.*\(such rows: 2\)"):
        split_half(ratings.assign(z=ratings.z.where(~ratings.index.isin([5, 9]))))
    with pytest.raises(LingprobError, match="item_id, row 2: the id is missing"):
        split_half(ratings.assign(item_id=ratings.item_id.where(ratings.index != 2)))
