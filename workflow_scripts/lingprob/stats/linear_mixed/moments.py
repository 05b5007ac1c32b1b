"""The data of linear mixed models as sums of products: one matrix a group, whatever the rows.

A linear mixed model with one grouping factor depends on its data only through each group's Gram
matrix of [1, predictors, response]. One pass over the rows makes these for all predictors of all
models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError, unknown_name
from lingprob.stats.linear_mixed.formula import evaluate_terms, parse_formula

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MixedModelData:
    """Sums of products of [1, predictors, response] by group, k predictors and G groups.

    The columns are less `shift`, (k + 2,) float64, their means (0 for the ones), which keeps
    digits. `moments`, (G, k + 2, k + 2) float64, are of the shifted columns; `counts`, (G,), are
    rows of each group.
    """

    response: str
    predictors: tuple[str, ...]
    shift: Array
    group: str
    groups: pd.Index
    moments: Array

    @classmethod
    def from_frame(
        cls, frame: pd.DataFrame, *, response: str, predictors: Iterable[str], group: str
    ) -> MixedModelData:
        """Read a frame of one row an observation, once.

        `predictors` are numeric columns, or terms of them as a formula writes them
        ('length:surprisal'). Raises LingprobError for an empty frame, unknown names, values that
        are missing, infinite or not numeric.
        """
        names = tuple(dict.fromkeys(predictors))
        columns = checked_columns(frame, (*names, response))
        codes, groups = group_codes(frame, group)
        shift = np.array([0.0, *(column.mean(dtype=np.float64) for column in columns)])
        ones = np.ones(len(frame))
        moments = group_moments([ones, *columns], codes, len(groups), shift)
        return cls(response, names, shift, group, groups, moments)

    @classmethod
    def from_formulas(cls, frame: pd.DataFrame, formulas: Iterable[str]) -> MixedModelData:
        """Read what all these formulas need from a frame, once; errors as from_frame."""
        response, predictors, factors = shared_names(formulas)
        if len(factors) > 1:
            raise LingprobError(f"formulas must share one grouping factor; got {factors}.")
        return cls.from_frame(frame, response=response, predictors=predictors, group=factors[0])

    @property
    def n(self) -> int:
        """Rows in all."""
        return round(self.total[0, 0])

    def deviations(self) -> Array:
        """Return the standard deviations (k + 2,), with n - 1 as R has them; 0 for the ones."""
        squares = np.diag(self.total) - self.total[0] ** 2 / self.n
        return np.sqrt(np.maximum(squares, 0) / max(self.n - 1, 1))

    def standardised(self, like: MixedModelData | None = None) -> MixedModelData:
        """Return the data with each predictor less its mean, divided by its standard deviation.

        Both are those of `like`: give the fit partition to put held-out data on its scale (the
        default, None, is these data themselves). The response keeps its unit.
        """
        source = self if like is None else like
        if source.predictors != self.predictors:
            raise LingprobError(
                f"data with predictors {', '.join(self.predictors)} cannot be standardised like "
                f"data with {', '.join(source.predictors)}."
            )
        means, spread = source.shift.copy(), source.deviations()
        for name, sd, mean in zip(self.predictors, spread[1:-1], means[1:-1], strict=True):
            if sd <= 1e-10 * abs(mean):
                raise constant_predictor(name, mean)
        means[[0, -1]], spread[[0, -1]] = 0, 1
        moments = self.moments / np.outer(spread, spread)
        return replace(self, moments=moments, shift=(self.shift - means) / spread)

    @cached_property
    def total(self) -> Array:
        """Sums of products of the shifted columns over all rows, (k + 2, k + 2)."""
        return self.moments.sum(axis=0)

    @property
    def counts(self) -> Array:
        """Rows of each group, (G,) float64."""
        return self.moments[:, 0, 0]


def shared_names(formulas: Iterable[str]) -> tuple[str, list[str], list[str]]:
    """Return the response that formulas share, their predictors and their grouping factors."""
    parsed = [parse_formula(text) for text in formulas]
    responses = sorted({formula.response for formula in parsed})
    if len(responses) != 1:
        raise LingprobError(f"formulas must share one response; got {responses}.")
    predictors = dict.fromkeys(name for formula in parsed for name in formula.predictors)
    factors = dict.fromkeys(formula.group for formula in parsed)
    return responses[0], list(predictors), list(factors)


def group_moments(
    columns: list[NDArray], codes: NDArray[np.intp], groups: int, shift: Array | float = 0.0
) -> Array:
    """Return sums of products of columns, each (n,), less `shift`, by group (G, c, c)."""
    # numpy sorts 16 bits by radix, several times faster.
    narrow = codes.astype(np.uint16) if groups < 2**16 else codes
    order = np.argsort(narrow, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=groups))
    moments = np.empty((groups, len(columns), len(columns)))
    for number, rows in enumerate(np.split(order, ends[:-1])):
        block = np.empty((len(rows), len(columns)))
        for place, column in enumerate(columns):
            block[:, place] = column[rows]
        block -= shift
        moments[number] = block.T @ block
    return moments


def checked_columns(frame: pd.DataFrame, names: tuple[str, ...]) -> list[NDArray]:
    """Return the named columns of a frame that has rows, each (n,) and finite."""
    if frame.empty:
        raise LingprobError("no rows: the partition or selection of the data is empty.")
    columns = evaluate_terms(frame, names)
    for name, column in zip(names, columns, strict=True):
        check_finite(name, column)
    return columns


def constant_predictor(name: str, value: float) -> LingprobError:
    """Build the error for a predictor that does not vary."""
    return LingprobError(f"{name} is {value:g} in every row. Leave it out of the formulas.")


def check_finite(name: str, column: NDArray) -> None:
    """Raise LingprobError if a value is missing or infinite."""
    at_fault = ~np.isfinite(column)
    if at_fault.any():
        row = int(at_fault.argmax())
        raise LingprobError(
            f"{name}, row {row}: {column[row]:g} ({int(at_fault.sum())} such rows). Drop or "
            "complete such rows first."
        )


def group_codes(frame: pd.DataFrame, factor: str) -> tuple[NDArray[np.intp], pd.Index]:
    """Return each row's level of a factor as a number (n,), and the levels."""
    if factor not in frame:
        raise unknown_name("column", factor, map(str, frame.columns))
    missing = frame[factor].isna()
    if missing.any():
        raise LingprobError(f"{factor}, row {int(missing.argmax())}: the group is missing.")
    codes, levels = pd.factorize(frame[factor], sort=True)
    return codes, pd.Index(levels, name=factor)
