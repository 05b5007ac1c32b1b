"""The words before each word in its passage: what they are like, for regressions with spillover."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd


def lag_name(predictor: str, lag: int) -> str:
    """Return the column of a predictor's value at the `lag`-th word before (0: the word itself)."""
    return f"{predictor}_{lag}" if lag else predictor


def lagged(values: Mapping[str, np.ndarray], words: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return predictors of each word and of the `most` words before it in its passage.

    Args:
        values: of each row of `words`, (words,), by predictor.
        words: a `words` table.
        most: words before.

    Returns:
        A float64 frame in the order of `words`, its columns named by `lag_name`; NaN where the
        passage has no such word.
    """
    passages = words["passage_id"].to_numpy()
    of_words = {name: pd.Series(column, dtype=float) for name, column in values.items()}
    return pd.DataFrame(
        {
            lag_name(name, lag): column.groupby(passages).shift(lag)
            for name, column in of_words.items()
            for lag in range(most + 1)
        }
    )
