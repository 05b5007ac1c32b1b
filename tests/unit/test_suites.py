"""SyntaxGym's formulas and suites, against values by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lingprob.errors import LingprobError
from lingprob.stimuli.formulas import parse_formula
from lingprob.stimuli.syntaxgym import join_regions, read_suite

SURPRISALS = {("a", 1): 1.0, ("a", 2): 5.0, ("b", 1): 2.0, ("b", 2): 3.0, ("a", 0): 6.0}


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("(1;%a%) < (1;%b%)", True),
        ("(1;%a%) > (1;%b%)", False),
        ("(1;%a%) < (1;%b%) & (2;%a%) < (2;%b%)", False),
        ("[(1;%a%) < (1;%b%)] | [(2;%a%) < (2;%b%)]", True),
        # 5 - 3 - 1 = 1 from the left; 5 - (3 - 1) = 3 otherwise.
        ("(2;%a%) - (2;%b%) - (1;%a%) = 1", True),
        ("[(2;%a%) - [(2;%b%) - (1;%a%)]] = 3.0", True),
        ("(1;%a%) + (2;%a%) = (*;%a%)", True),
        ("(1;%a%) = 1.0005", True),
        ("(1;%a%) = 1.01", False),
        # | and & bind alike and group from the left: (False | True) & False.
        ("(1;%a%) > 9 | (1;%a%) < 9 & (1;%a%) > 9", False),
    ],
)
def test_a_formula_means_what_it_says(formula, expected):
    assert bool(parse_formula(formula, "here").holds(SURPRISALS)) is expected


def test_a_formula_holds_elementwise():
    formula = parse_formula("(1;%a%) < (1;%b%)", "here")
    held = formula.holds({("a", 1): np.array([1.0, 2.0]), ("b", 1): np.array([2.0, 1.0])})
    assert held.tolist() == [True, False]


def test_a_formula_knows_its_regions_and_preferences():
    formula = parse_formula("[(7;%x-1%) > (7;%y_2%)] & [[(7;%x-1%) - (7;%y_2%)] > (8;%z%)]", "h")
    assert formula.regions() == [("x-1", 7), ("y_2", 7), ("z", 8)]
    assert formula.preferences() == [(("y_2", 7), ("x-1", 7))]


@pytest.mark.parametrize(
    ("formula", "character", "said"),
    [
        ("", 1, "ends where a region"),
        ("(1;%a%) < ", 11, "ends where a region"),
        ("(1;%a%)", 1, "no comparison"),
        ("(1;%a%) ! (1;%b%)", 9, "unknown symbol"),
        ("[(1;%a%) < (1;%b%)", 19, "']' is missing"),
        ("(1;%a%) < (1;%b%)]", 18, "nothing may follow"),
        ("(1;%a%) & (1;%b%)", 1, "'&' needs a comparison here, not a surprisal"),
        ("[(1;%a%) < 2] + 3 > 1", 1, "'\\+' needs a surprisal here, not a comparison"),
        ("(1;%a%) < (1;%b%) < (2;%a%)", 1, "'<' needs a surprisal"),
        ("(x;%a%) < 1", 2, "unknown symbol"),
        ("< (1;%a%)", 1, "a region like"),
    ],
)
def test_a_formula_that_does_not_parse_is_shown_with_the_place(formula, character, said):
    with pytest.raises(LingprobError, match=f"my suite.*character {character}:.*{said}") as error:
        parse_formula(formula, "my suite")
    assert formula in str(error.value)


def test_regions_join_as_running_text_and_cover_every_character():
    regions = [
        (1, "As the man"),
        (2, " shot "),
        (3, ","),
        (4, ""),
        (5, " the woman"),
        (6, "left ."),
    ]
    sentence = join_regions("c", regions)
    assert sentence.text == "As the man shot, the woman left."
    pieces = [sentence.text[region.start : region.end] for region in sentence.regions]
    assert pieces == ["As the man", " shot", ",", "", " the woman", " left."]


def suite(tmp_path: Path, formula: str, **changes: str) -> Path:
    """A suite of one item with conditions a and b; `changes` replace texts in its JSON."""
    raw = {
        "predictions": [{"type": "formula", "formula": formula}],
        "items": [
            {
                "item_number": 3,
                "conditions": [
                    {
                        "condition_name": name,
                        "regions": [
                            {"region_number": 2, "content": verb},
                            {"region_number": 1, "content": "The dogs"},
                            {"region_number": 3, "content": ""},
                        ],
                    }
                    for name, verb in (("a", "bark"), ("b", "barks"))
                ],
            }
        ],
    }
    text = json.dumps(raw)
    for old, new in changes.items():
        text = text.replace(old, new)
    path = tmp_path / "mine.json"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_suite_is_read_with_regions_in_the_order_of_their_numbers(tmp_path):
    read = read_suite(suite(tmp_path, "(2;%a%) < (2;%b%)"))
    assert read.name == "mine"
    assert read.items[0].sentences["b"].text == "The dogs barks"
    assert [read.grammatical(condition) for condition in ("a", "b")] == [True, False]


def test_a_condition_that_is_both_or_neither_has_no_grammaticality(tmp_path):
    both = read_suite(suite(tmp_path, "[(2;%a%) < (2;%b%)] & [(1;%a%) > (1;%b%)]"))
    assert both.grammatical("a") is None
    neither = read_suite(suite(tmp_path, "(2;%a%) + (1;%a%) < (2;%b%)"))
    assert neither.grammatical("a") is None


@pytest.mark.parametrize(
    ("formula", "changes", "said"),
    [
        ("(2;%a%) < (2;%c%)", {}, "item 3: a formula names the condition 'c'"),
        (
            "(3;%a%) < (2;%b%)",
            {},
            "item 3, condition 'a': a formula needs region 3, which is empty",
        ),
        ("(9;%a%) < (2;%b%)", {}, "needs region 9, which does not exist"),
        ("(2;%a%) <", {}, r"suite mine, prediction 1\): the formula does not parse"),
        ("(2;%a%) < (2;%b%)", {'"b"': '"a"'}, "item 3 has the condition 'a' twice"),
        ("(2;%a%) < (2;%b%)", {"item_number": "number"}, "not a SyntaxGym suite"),
    ],
)
def test_a_bad_suite_is_named_with_item_and_remedy(tmp_path, formula, changes, said):
    path = suite(tmp_path, formula, **changes)
    with pytest.raises(LingprobError, match=said) as error:
        read_suite(path)
    assert str(path) in str(error.value)
