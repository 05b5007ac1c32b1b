"""Suites: the groups of pairs that a prefix matches or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd


def with_suites(stimuli: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return a `stimuli` table in which every item has a suite, in the column paradigm.

    An item without a paradigm is of its phenomenon's suite, one without either of the data set's.
    """
    suite = stimuli["paradigm"].astype(object).fillna(stimuli["phenomenon"].astype(object))
    return stimuli.assign(paradigm=suite.fillna(dataset))


def pairs_per_suite(
    context: Mapping[str, Any], dataset: str, entry: Mapping[str, Any]
) -> int | None:
    """Return how many pairs of each suite are judged: all (None) of a data set of one's own.

    Args:
        context: section `context` of the configuration.
        dataset: its name; `pairs_per_suite_of` may have a number of its own for it.
        entry: its catalog entry.
    """
    usual = None if entry["parser"] == "table" else context["pairs_per_suite"]
    return context["pairs_per_suite_of"].get(dataset, usual)
