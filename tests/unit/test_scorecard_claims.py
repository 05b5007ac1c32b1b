"""Claims of the catalog against tables, numbers against printed ones, and what is left out."""

from __future__ import annotations

import math

import pandas as pd
import pytest

from lingprob.errors import LingprobError
from lingprob.papers.contract import Run
from lingprob.schemas import SCHEMAS
from lingprob.scorecard.comparison import compare_numbers, judge_claims, make_scorecard
from lingprob.scorecard.verdicts import Estimate

PUBLISHED = {
    "paper": "mine",
    "claims": [
        {"id": "up", "section": "§1", "sentence": "It rises.", "expected": "> 0",
         "exceptions": {"small": "< 0"}, "figure": "mine/figure_1"},
        {"id": "never", "section": "§2", "sentence": "Nobody knows.", "expected": "< 0"},
    ],
    "items": [
        {"item": "Table 1", "columns": ["r", "n"], "places": [3, 0], "decides": [0.02, 0],
         "note": "as printed", "rows": {"small": [0.860, 10], "large": [0.9, 11]}},
    ],
}  # fmt: skip


def statistic(tables, run):
    for row in tables["values"].itertuples():
        yield row.model, Estimate(row.value, row.low, row.high)


def never(tables, run):
    return []


def test_each_population_of_a_claim_is_judged_and_the_exception_reversed():
    values = pd.DataFrame(
        {"model": ["small/d", "large/d", "huge/d"], "value": [-1.0, 1, -1], "low": [-2.0, -1, -2],
         "high": [-0.5, 2, -0.5]}
    )  # fmt: skip
    rows = judge_claims(
        PUBLISHED, {"up": statistic, "never": never}, {"values": values}, Run("demo")
    )
    card = make_scorecard(rows).set_index(["column", "row"])
    assert card["verdict"].to_dict() == {
        ("up", "small/d"): "supported",
        ("up", "large/d"): "undecided",
        ("up", "huge/d"): "contradicted",
        ("never", "(none)"): "not run",
    }
    assert card.loc[("up", "small/d"), "expected"] == "< 0"
    assert "exception" in card.loc[("up", "small/d"), "note"]
    assert card.loc[("up", "huge/d"), "figure"] == "mine/figure_1"


@pytest.mark.parametrize("statistics", [{"up": never}, {"up": never, "never": never, "x": never}])
def test_claims_and_statistics_belong_together(statistics):
    with pytest.raises(LingprobError, match="not both in the catalog"):
        judge_claims(PUBLISHED, statistics, {}, Run("demo"))


def test_numbers_are_judged_by_their_printed_places():
    ours = {
        ("small", "r"): Estimate(0.8604, 0.85, 0.87, 100),
        ("small", "n"): Estimate.exact(10.0),
        ("large", "r"): Estimate(0.84, 0.80, 0.88, 100, "mine"),
    }
    rows = compare_numbers(PUBLISHED, ours, "demo")
    assert [rows[3][name] for name in ("ours", "low", "high", "difference")] == [None] * 4
    card = make_scorecard(rows)
    assert card["verdict"].tolist() == ["reproduced", "reproduced", "differs", "not run"]
    assert card.loc[0, ["ours", "low", "high"]].tolist() == [0.8604, 0.85, 0.87]
    assert card["difference"].tolist()[:3] == pytest.approx([0.0004, 0, -0.06])
    assert math.isnan(card["ours"].iloc[3])
    assert card["note"].iloc[2] == "mine; as printed"
    assert list(card.columns) == SCHEMAS["scorecard"].names


def test_half_a_unit_of_the_last_place_is_rounding():
    found = {("small", "r"): 0.8604, ("small", "n"): 10.4, ("large", "r"): 0.9006,
             ("large", "n"): 10.4}  # fmt: skip
    ours = {cell: Estimate.exact(value) for cell, value in found.items()}
    card = make_scorecard(compare_numbers(PUBLISHED, ours, "demo"))
    assert card["verdict"].tolist() == ["reproduced", "reproduced", "differs", "differs"]


def test_a_tolerance_says_why():
    rows = {"near": [0.5, 1], "far": [0.5, 1], "elsewhere": [0.5, 1]}
    item = {**PUBLISHED["items"][0], "rows": rows, "tolerance": [0.25, 0],
            "reason": "folds are not stated"}  # fmt: skip
    ours = {("near", "r"): Estimate(0.25, 0.2, 0.3), ("far", "r"): Estimate(0.2, 0.1, 0.6)}
    card = make_scorecard(compare_numbers({**PUBLISHED, "items": [item]}, ours, "demo"))
    by_row = card[card["column"] == "r"].set_index("row")
    assert by_row["verdict"].tolist() == ["reproduced", "differs", "not run"]
    assert "within 0.25: folds are not stated" in by_row.loc["near", "note"]
    assert "folds" not in by_row.loc["elsewhere", "note"]


def test_little_power_is_said_and_a_claim_that_is_not_run_has_no_value():
    up, never_run = PUBLISHED["claims"]
    published = {**PUBLISHED, "claims": [{**up, "power": 0.4, "note": "few"}, never_run]}
    values = pd.DataFrame({"model": ["m/d"], "value": [1.0], "low": [0.5], "high": [2.0]})
    statistics = {"up": statistic, "never": never}
    rows = judge_claims(published, statistics, {"values": values}, Run("demo"))
    assert rows[1]["ours"] is None
    card = make_scorecard(rows)
    assert card["note"].tolist() == [
        "power at the paper's size: 0.4; few", "nothing here tests it"
    ]  # fmt: skip
    assert card["ours"].isna().tolist() == [False, True]
    assert card.loc[0, ["ours", "low", "high"]].tolist() == [1, 0.5, 2]
    assert card["scale"].tolist() == ["demo", "demo"]
