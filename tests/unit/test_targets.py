"""What a target that no rule makes is answered with."""

from __future__ import annotations

import re

import pytest

from lingprob.targets import REMEDY, options_with, unknown_target, unmade

OUTPUTS = [
    "results/scores/{model}/{start_token}/{dataset}.parquet",
    "results/context/unprefixed/{model}/{dataset}.parquet",
    "results/context/figure_2.png",
    "results/context/figure_9.png",
    "results/scorecard.csv",
]
NAMES = ["gpt2", "gpt2-chinese", "blimp", "zhoblimp", "bos", "none"]


def is_made(path: str) -> bool:
    made = r"results/scores/(gpt2|gpt2-chinese)/(bos|none)/(blimp|zhoblimp)\.parquet"
    return path in OUTPUTS or bool(re.fullmatch(made, path))


@pytest.mark.parametrize(
    ("target", "hint"),
    [
        # One name is another: by its nearest ones, the nearest first.
        ("results/scores/gpt2/bos/blmp.parquet", "Did you mean results/scores/gpt2/bos/blimp.parq"),
        ("results/scores/gtp2/none/blimp.parquet", "Did you mean results/scores/gpt2/none/blimp."),
        # Beside it there are others.
        ("results/context/figure_99.png", "Did you mean results/context/figure_9.png or"),
        # A part is missing: how such paths look.
        ("results/scores/gpt2/blimp.parquet", "There are results/scores/{model}/{start_token}/{"),
        # A table that is none in any other format.
        ("results/scores/gpt2/bos/blimp.xlsx", f"this configuration. {REMEDY}"),
    ],
)
def test_the_answer_has_what_is_made_instead(target, hint):
    said = unmade(target, OUTPUTS, is_made, NAMES)
    assert said.startswith(f"{target}: no rule makes this file")
    assert hint in said
    assert said.endswith(REMEDY)
    assert "\n" not in said


def test_only_files_that_are_made_are_named():
    said = unmade("results/scores/gpt2/bos/blmp.parquet", OUTPUTS, lambda path: False, NAMES)
    assert "blimp" not in said


def test_who_has_an_entry_of_their_own_is_told_of_its_file():
    outputs = ["results/profiles/{model}.html", "results/context/figure_2.png"]
    targets = ("profiles/mine.html", "profiles/gpt2.html", "context/map.png")
    asked = {
        name: unmade(f"results/{name}", outputs, lambda path: False, ["gpt2"]) for name in targets
    }
    told = {name for name, said in asked.items() if "--configfile" in said}
    assert told == {"profiles/mine.html"}
    assert "If 'mine' is an entry in a file of your own" in asked["profiles/mine.html"]


def test_a_bare_name_is_answered_with_the_nearest_targets_or_all():
    known = ["morcela", "demo", "all"]
    assert unknown_target("morcella", known) == "morcella: no such target. Did you mean morcela?"
    assert unknown_target("xyz", known).endswith("Did you mean all, demo, morcela?")


def test_options_are_found_by_their_value_wherever_they_stand():
    entry = {"path": "a.csv", "files": ["a.csv"], "columns": {"sentence": "a.csv"}}
    config = {"scale": "demo", "datasets": {"mine": entry}, "models": {"m": {"path": "b"}}}
    assert [*options_with("a.csv", config)] == [
        "datasets.mine.path", "datasets.mine.columns.sentence",
    ]  # fmt: skip
    assert [*options_with("c", config)] == []
