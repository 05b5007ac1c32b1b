"""What a target that no rule makes is answered with."""

from __future__ import annotations

import re

import pytest

from lingprob.targets import REMEDY, unmade

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
