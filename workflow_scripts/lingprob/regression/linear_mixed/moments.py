"""The data of linear mixed models as sums of products: one matrix a group, whatever the rows.

A linear mixed model depends on its data only through each group's Gram matrix of
[1, predictors, response]. One pass over the rows makes these for all predictors of all models.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError, unknown_name
from lingprob.regression.linear_mixed.formula import evaluate_terms, parse_formula

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MixedModelData:
    """Sums of products of [1, predictors, response] by group, k predictors and G groups.

    `moments`, (G, k + 2, k + 2) float64, are of the columns less `shift`, (k + 2,) float64 (the
    columns' means; 0 for the ones), which keeps digits. `counts`, (G,), are rows of each group.
    """

    response: str
    predictors: tuple[str, ...]
    group: str
    groups: pd.Index
    moments: Array
    shift: Array

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
        if frame.empty:
            raise LingprobError("no rows: the partition or selection of the data is empty.")
        columns = evaluate_terms(frame, (*names, response))
        for name, column in zip((*names, response), columns, strict=True):
            check_finite(name, column)
        codes, groups = _group_codes(frame, group)
        shift = np.array([0.0, *(column.mean(dtype=np.float64) for column in columns)])
        # numpy sorts 16 bits by radix, several times faster.
        narrow = codes.astype(np.uint16) if len(groups) < 2**16 else codes
        order = np.argsort(narrow, kind="stable")
        ends = np.cumsum(np.bincount(codes, minlength=len(groups)))
        moments = np.empty((len(groups), len(shift), len(shift)))
        for number, rows in enumerate(np.split(order, ends[:-1])):
            block = np.ones((len(rows), len(shift)))
            for place, column in enumerate(columns, start=1):
                block[:, place] = column[rows]
            block -= shift
            moments[number] = block.T @ block
        return cls(response, names, group, groups, moments, shift)

    @classmethod
    def from_formulas(cls, frame: pd.DataFrame, formulas: Iterable[str]) -> MixedModelData:
        """Read what all these formulas need from a frame, once; errors as from_frame."""
        parsed = [parse_formula(text) for text in formulas]
        for attribute in ("response", "group"):
            found = {getattr(formula, attribute) for formula in parsed}
            if len(found) != 1:
                raise LingprobError(f"formulas must share one {attribute}; got {sorted(found)}.")
        predictors = [name for formula in parsed for name in formula.predictors]
        first = parsed[0]
        return cls.from_frame(
            frame, response=first.response, predictors=predictors, group=first.group
        )

    @property
    def counts(self) -> Array:
        """Rows of each group, (G,) float64."""
        return self.moments[:, 0, 0]

    @property
    def n(self) -> int:
        """Rows in all."""
        return round(self.counts.sum())

    def means(self) -> Array:
        """Return the means (k + 2,) of [1, predictors, response] over all rows."""
        return self.shift + self.moments.sum(axis=0)[0] / self.n * (np.arange(len(self.shift)) > 0)

    def deviations(self) -> Array:
        """Return the standard deviations (k + 2,), with n - 1 as R has them; 0 for the ones."""
        total = self.moments.sum(axis=0)
        squares = np.diag(total) - total[0] ** 2 / self.n
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
        means, spread = source.means(), source.deviations()
        for name, sd, mean in zip(self.predictors, spread[1:-1], means[1:-1], strict=True):
            if sd <= 1e-10 * abs(mean) or sd == 0:
                raise constant_predictor(name, mean)
        means[[0, -1]], spread[[0, -1]] = 0, 1
        return replace(
            self,
            moments=self.moments / np.outer(spread, spread),
            shift=(self.shift - means) / spread,
        )


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


def _group_codes(frame: pd.DataFrame, group: str) -> tuple[NDArray[np.intp], pd.Index]:
    if group not in frame:
        raise unknown_name("column", group, map(str, frame.columns))
    codes, groups = pd.factorize(frame[group], sort=True)
    if (codes < 0).any():
        raise LingprobError(f"{group}, row {int((codes < 0).argmax())}: the group is missing.")
    return codes, pd.Index(groups, name=group)
