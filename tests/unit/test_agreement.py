"""Agreement between groups of participants in tables small enough to work out by hand."""

from __future__ import annotations

import logging

import numpy as np
import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.io.schemas import SCHEMAS
from lingprob.stats import agreement
from lingprob.stats.agreement import (
    DEFINITIONS,
    number_judgments,
    shuffles,
    split_half,
    standardise_ratings,
)


def crossed(values: np.ndarray) -> pd.DataFrame:
    """Return ratings in which participant j gives item i values[i, j], and z minus that."""
    items, participants = values.shape
    return pd.DataFrame(
        {
            "participant_id": [f"p{j}" for _ in range(items) for j in range(participants)],
            "item_id": [f"i{i}" for i in range(items) for _ in range(participants)],
            "rating": values.ravel().astype(float),
            "z": -values.ravel().astype(float) / 2,
        }
    )


def test_judges_of_one_mind_agree_perfectly_by_every_definition() -> None:
    table = split_half(crossed(np.tile(np.arange(8)[:, None], (1, 12))), draws=20)
    assert list(table.definition) == list(DEFINITIONS)
    assert table[["r", "r_low", "r_high"]].to_numpy() == pytest.approx(1)
    assert set(table.draws) == {20}
    stored = set(SCHEMAS["intergroup_correlation"].names)
    assert stored - set(table.columns) == {"dataset", "rating_source", "scale"}


def test_two_participants_are_the_two_halves() -> None:
    one, other = np.array([1, 5, 2, 7, 3]), np.array([2, 4, 1, 6, 7])
    table = split_half(crossed(np.column_stack([one, other])), draws=30)
    row = table.set_index("definition").loc["participant_halves"]
    assert row[["r", "r_low", "r_high"]].to_numpy(float) == pytest.approx(
        np.corrcoef(one, other)[0, 1]
    )


def test_what_is_done_unless_another_number_is_given() -> None:
    ratings = crossed(np.random.default_rng(0).integers(1, 8, (8, 12)))
    given = {"draws": 200, "seed": 0, "confidence": 0.95}
    pd.testing.assert_frame_equal(split_half(ratings), split_half(ratings, **given))


def test_z_and_raw_ratings_are_kept_apart() -> None:
    ratings = crossed(np.random.default_rng(0).integers(1, 8, (20, 12)))
    ratings["z"] = np.repeat(np.arange(20.0), 12)
    table = split_half(ratings, draws=5).set_index("definition")
    assert table.r["equal_halves"] == pytest.approx(1)
    assert table.r["raw_equal_halves"] < 0.9


def test_spearman_brown_steps_up_each_draw() -> None:
    ratings = crossed(np.arange(20)[:, None] + np.random.default_rng(0).normal(0, 20, (20, 12)))
    table = split_half(ratings, draws=1).set_index("definition")
    half = table.r["equal_halves"]
    assert table.r["spearman_brown"] == pytest.approx(2 * half / (1 + half))


def test_agreement_is_what_the_variances_predict() -> None:
    # With item variance 1 and participant variance 1, means of k participants correlate
    # k / (k + 1) on average, and means of j with means of k sqrt(j / (j + 1) * k / (k + 1)).
    generator = np.random.default_rng(0)
    values = generator.normal(size=(4000, 1)) + generator.normal(size=(4000, 10))
    table = split_half(crossed(values), draws=20).set_index("definition").r
    expected = {
        "equal_halves": 5 / 6,
        "five_judgments_per_group": 5 / 6,
        "four_judgments_per_group": 4 / 5,
        "single_judgment_per_group": 1 / 2,
        "single_judgment_against_rest": np.sqrt(1 / 2 * 9 / 10),
        "three_judgments_against_rest": np.sqrt(3 / 4 * 7 / 8),
        "participant_halves": 5 / 6,
        "spearman_brown": 10 / 11,
    }
    assert table[list(expected)].to_numpy() == pytest.approx(list(expected.values()), abs=0.02)
    assert table["uneven_groups"] < table["independent_assignment"] < table["equal_halves"]


def test_definitions_that_need_more_judgments_are_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING)
    values = np.arange(30)[:, None] + np.random.default_rng(0).normal(size=(30, 3))
    table = split_half(crossed(values), draws=10)
    assert "equal_halves" in set(table.definition)
    assert not {"four_judgments_per_group", "three_judgments_against_rest"} & set(table.definition)
    assert "four_judgments_per_group" in caplog.text


def test_items_with_an_empty_group_are_left_out_of_the_draw() -> None:
    # Item i3 has one judgment: halves are never possible, the other three items agree perfectly.
    ratings = crossed(np.tile(np.arange(4)[:, None], (1, 2)))
    ratings.loc[6, ["rating", "z"]] = 100.0
    table = split_half(ratings.drop(index=7), draws=10).set_index("definition")
    assert table.r["equal_halves"] == pytest.approx(1)


def test_two_items_are_too_few_to_correlate() -> None:
    values = np.random.default_rng(0).normal(size=(3, 12))
    assert len(split_half(crossed(values), draws=3)) == len(DEFINITIONS)
    assert split_half(crossed(values[:2]), draws=3).empty


def test_every_judgment_is_as_likely_to_come_first() -> None:
    judgments = number_judgments(crossed(np.arange(12).reshape(3, 4)))
    ranks = np.concatenate(
        [shuffle.rank for shuffle in shuffles(judgments, 20_000, np.random.default_rng(0))]
    )
    assert ranks.shape == (20_000, 12)
    assert (np.sort(ranks.reshape(-1, 3, 4), axis=2) == np.arange(4)).all()
    assert (ranks == 0).mean(axis=0) == pytest.approx(0.25, abs=0.015)


def test_a_seed_s_draws_are_numbers_one_after_another() -> None:
    judgments = number_judgments(crossed(np.arange(12).reshape(3, 4)))
    (shuffle,) = shuffles(judgments, 5, np.random.default_rng(7))
    numbers = np.random.default_rng(7)
    orders = numbers.random((5, 3, 4)).argsort(axis=2)
    np.testing.assert_array_equal(shuffle.rank, orders.reshape(5, 12))
    np.testing.assert_array_equal(shuffle.coin, numbers.random((5, 12)) < 0.5)
    np.testing.assert_array_equal(shuffle.participant_rank, numbers.random((5, 4)).argsort(axis=1))
    np.testing.assert_array_equal(shuffle.cut, numbers.random((5, 3)))


def test_row_order_of_the_table_only_reshuffles() -> None:
    generator = np.random.default_rng(0)
    ratings = crossed(np.arange(200)[:, None] + generator.normal(0, 40, (200, 12)))
    mixed = ratings.sample(frac=1, random_state=1)
    before, after = (split_half(each, draws=100).r for each in (ratings, mixed))
    assert before.to_numpy() == pytest.approx(after.to_numpy(), abs=0.02)
    pd.testing.assert_series_equal(before, split_half(ratings, draws=100).r)


def test_standardised_ratings_by_hand() -> None:
    ratings = pd.DataFrame(
        {"participant_id": ["a", "b", "a", "b", "a"], "rating": [1.0, 4, 2, 6, 3]},
        index=[5, 6, 7, 8, 9],
    )
    z = standardise_ratings(ratings)
    assert z.to_dict() == pytest.approx(
        {5: -1, 6: -np.sqrt(0.5), 7: 0, 8: np.sqrt(0.5), 9: 1}
    )  # fmt: skip


@pytest.mark.parametrize(("values", "message"), [
    ([1.0, 1.0, 3.0, np.nan], "column 'rating', row 3: the value is missing"),
    ([4.0, 4.0, 3.0, 2.0], "participant 'a': the ratings do not vary"),
])  # fmt: skip
def test_ratings_without_a_z_score_are_errors(values: list[float], message: str) -> None:
    ratings = pd.DataFrame({"participant_id": list("aabb"), "rating": values})
    with pytest.raises(LingprobError, match=message):
        standardise_ratings(ratings)


def test_a_single_rating_of_a_participant_is_an_error() -> None:
    ratings = pd.DataFrame({"participant_id": list("aab"), "rating": [1.0, 2.0, 3.0]})
    with pytest.raises(LingprobError, match="participant 'b'"):
        standardise_ratings(ratings)


def test_errors_name_column_and_row() -> None:
    ratings = crossed(np.arange(24).reshape(6, 4))
    with pytest.raises(LingprobError, match=r"missing columns \['z'\]"):
        split_half(ratings.drop(columns="z"))
    with pytest.raises(LingprobError, match="column 'z', row 5"):
        split_half(ratings.assign(z=ratings.z.where(np.arange(24) != 5)))
    with pytest.raises(LingprobError, match="column 'item_id', row 2: the id is missing"):
        split_half(ratings.assign(item_id=ratings.item_id.where(np.arange(24) != 2)))
    with pytest.raises(LingprobError, match="0 rows"):
        split_half(ratings.iloc[:0])
    with pytest.raises(LingprobError, match="draws=0"):
        split_half(ratings, draws=0)
    for confidence in (0.0, 1.0, 1.5):
        with pytest.raises(LingprobError, match=f"confidence={confidence}"):
            split_half(ratings, draws=1, confidence=confidence)


@pytest.mark.parametrize("at_once", [1, 40, 100, 10_000])
def test_there_are_as_many_splits_as_asked_for(monkeypatch, at_once) -> None:
    """Blocks of 1, 1, 2 and 7 draws of 40 judgments."""
    monkeypatch.setattr(agreement, "CELLS_AT_ONCE", at_once)
    judgments = number_judgments(crossed(np.arange(40).reshape(10, 4)))
    found = list(shuffles(judgments, 7, np.random.default_rng(0)))
    assert [len(block.rank) for block in found] == {
        1: [1] * 7, 40: [1] * 7, 100: [2, 2, 2, 1], 10_000: [7],
    }[at_once]  # fmt: skip


def test_three_items_are_enough_and_two_are_not() -> None:
    scores = np.column_stack([[1, 5, 2], [2, 4, 3]])
    table = split_half(crossed(scores), draws=3).set_index("definition")
    assert table.r["participant_halves"] == pytest.approx(np.corrcoef(scores.T)[0, 1])
    assert not len(split_half(crossed(scores[:2]), draws=3))


def test_a_row_at_fault_is_named() -> None:
    ratings = crossed(np.arange(40).reshape(10, 4))
    with pytest.raises(LingprobError, match=r"'z', row 7.*\(2 such rows\)"):
        split_half(ratings.assign(z=ratings["z"].where(~ratings.index.isin([7, 9]))))
    with pytest.raises(LingprobError, match="'item_id', row 5"):
        split_half(ratings.assign(item_id=ratings["item_id"].where(ratings.index != 5)))
    with pytest.raises(LingprobError, match="participant 'p2': the ratings do not vary"):
        standardise_ratings(
            ratings.assign(rating=ratings["rating"].where(ratings["participant_id"] != "p2", 1.0))
        )
