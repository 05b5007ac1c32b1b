"""Suites: the groups of pairs that a prefix matches or not."""

from __future__ import annotations

import pandas as pd


def with_suites(stimuli: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return a `stimuli` table in which every item has a suite, in the column paradigm.

    An item without a paradigm is of its phenomenon's suite, one without either of the data set's.
    """
    suite = stimuli["paradigm"].astype(object).fillna(stimuli["phenomenon"].astype(object))
    return stimuli.assign(paradigm=suite.fillna(dataset))
