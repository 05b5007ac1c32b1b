"""Colours and names of kinds of prefixes, alike in all figures."""

from __future__ import annotations

import pandas as pd

from lingprob.context.names import CROWS_PAIRS, FROM_SUITE, UNRELATED
from lingprob.figures import palette
from lingprob.papers.contract import Run

COLOURS = {
    "matched_acceptable": palette.GREEN,
    "mismatched_acceptable": palette.ORANGE,
    "matched_unacceptable": palette.PURPLE,
    "mismatched_unacceptable": palette.RED,
    "acceptable": palette.GREEN,
    "unacceptable": palette.PURPLE,
    UNRELATED: palette.SKY,
    FROM_SUITE: palette.BLUE,
}


def label(kind: str, run: Run, dataset: str = "") -> str:
    """Return what a legend calls a kind of prefixes."""
    if kind == UNRELATED:
        return run.options["control"]
    if kind == FROM_SUITE:
        return "Of one other suite"
    named = kind.replace("_", ", ")
    if dataset == CROWS_PAIRS:
        named = named.replace("unacceptable", "stereotypical")
        named = named.replace("acceptable", "antistereotypical")
    return named.capitalize()


def number_of_pairs(rows: pd.DataFrame) -> str:
    """Return what a panel's title says of its pairs, from columns n_pairs and n_suites."""
    suites = int(rows["n_suites"].max())
    return f"n = {int(rows['n_pairs'].max()):,} in {suites} suite{'s' * (suites > 1)}"
