"""The data of linear mixed models with crossed grouping factors: the rows, read once."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError
from lingprob.stats.linear_mixed.moments import (
    Columns,
    MixedModelData,
    checked_columns,
    group_codes,
    group_moments,
    shared_names,
)

Array = NDArray[np.float64]


@dataclass(frozen=True)
class CrossedData(Columns):
    """Rows of [1, predictors, response] with their levels of several grouping factors.

    `columns`, (n, k + 2) float64, are shifted; `codes` has each row's level of each factor as a
    number, (n,) int, and `level_names` what it stands for.
    """

    columns: Array
    codes: dict[str, NDArray[np.intp]]
    level_names: dict[str, pd.Index]

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        response: str,
        predictors: Iterable[str],
        groups: Iterable[str],
    ) -> CrossedData:
        """Read a frame of one row an observation; errors as MixedModelData.from_frame.

        A factor of `groups` is a column, or the pairs of two: 'story:sentence'.
        """
        names = tuple(dict.fromkeys(predictors))
        read = checked_columns(frame, (*names, response))
        columns = np.column_stack([np.ones(len(frame)), *read]).astype(np.float64)
        shift = columns.mean(axis=0)
        shift[0] = 0.0
        coded = {factor: group_codes(frame, factor) for factor in groups}
        return cls(
            response,
            names,
            shift,
            columns - shift,
            {factor: codes for factor, (codes, _) in coded.items()},
            {factor: levels for factor, (_, levels) in coded.items()},
        )

    @classmethod
    def from_formulas(cls, frame: pd.DataFrame, formulas: Iterable[str]) -> CrossedData:
        """Read what all these formulas need from a frame, once; errors as from_frame."""
        response, predictors, factors = shared_names(formulas)
        return cls.from_frame(frame, response=response, predictors=predictors, groups=factors)

    @property
    def factors(self) -> tuple[str, ...]:
        """Names of the grouping factors."""
        return tuple(self.codes)

    def levels(self, factor: str) -> pd.Index:
        """Return the levels of a grouping factor."""
        return self.level_names[factor]

    @cached_property
    def total(self) -> Array:
        """Sums of products of the shifted columns over all rows, (k + 2, k + 2)."""
        return self.columns.T @ self.columns

    def divided(self, spread: Array, shift: Array) -> Self:
        """Return the data with columns divided by `spread` (k + 2,), and another shift."""
        return replace(self, columns=self.columns / spread, shift=shift)

    def by(self, factor: str) -> MixedModelData:
        """Return the data of models with this grouping factor only."""
        if factor not in self.codes:
            raise LingprobError(f"{factor} is none of the data's factors {', '.join(self.codes)}.")
        levels = self.levels(factor)
        moments = group_moments(list(self.columns.T), self.codes[factor], len(levels))
        return MixedModelData(self.response, self.predictors, self.shift, factor, levels, moments)
