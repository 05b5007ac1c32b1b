"""Formulas and data of linear mixed models: one matrix of products per group.

A linear mixed model with one grouping factor depends on its data only through each group's Gram
matrix of [1, predictors, response]. One pass over the rows makes these for all predictors of all
models. A model takes some of the columns, each on a scale of about 1.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.errors import LingprobError, unknown_name
from lingprob.stats.least_squares import INTERCEPT, finite_column
from lingprob.stats.linear_mixed.likelihood import ModelMoments

Array = NDArray[np.float64]

SHAPE = re.compile(
    r"\s*(\w+)\s*~((?:\s*\w+\s*\+)*)\s*\(((?:\s*\w+\s*\+)*\s*\w+)\s*\|\s*(\w+)\s*\)\s*"
)
# A predictor is collinear if the others leave less than this share of its variance unexplained.
COLLINEAR = 1e-10
# A fit is perfect if the effects leave less than this share of the response's variance.
EXACT = 1e-12


class MixedFormula(NamedTuple):
    """A formula: names of columns, fixed and random effects with intercepts first."""

    response: str
    fixed: tuple[str, ...]
    random: tuple[str, ...]
    group: str

    @property
    def text(self) -> str:
        """Return the formula as lme4 writes it."""
        random = " + ".join(["1" if INTERCEPT in self.random else "0", *_columns(self.random)])
        start = ["0"] if INTERCEPT not in self.fixed else ["1"] if len(self.fixed) == 1 else []
        fixed = [*start, *_columns(self.fixed), f"({random} | {self.group})"]
        return f"{self.response} ~ {' + '.join(fixed)}"

    @property
    def predictors(self) -> tuple[str, ...]:
        """Return all predictors, each once, without intercepts."""
        return tuple(dict.fromkeys(_columns(self.fixed + self.random)))


def _columns(effects: tuple[str, ...]) -> list[str]:
    return [name for name in effects if name != INTERCEPT]


def parse_formula(text: str) -> MixedFormula:
    """Return the parts of a formula. Raises LingprobError for an unsupported one."""
    if found := SHAPE.fullmatch(text):
        response, fixed, random, group = found.groups()
        formula = MixedFormula(response, _effects(fixed), _effects(random), group)
        if formula.fixed and formula.random:
            return formula
    raise LingprobError(
        f"{text!r}: not a formula of this kind. It needs fixed effects, and random ones in one "
        "term at the end, as 'rt_ms ~ length + surprisal + (1 + surprisal | subject_id)'."
    )


def _effects(part: str) -> tuple[str, ...]:
    """Return the effects of one side of the bar, each once: an intercept unless there is a 0."""
    names = re.findall(r"\w+", part)
    columns = [name for name in names if name not in ("0", "1")]
    return tuple(dict.fromkeys([*([] if "0" in names else [INTERCEPT]), *columns]))


@dataclass(frozen=True)
class MixedModelData:
    """Sums of products of [1, predictors, response] by group, k predictors and G groups.

    `moments`, (G, k + 2, k + 2) float64, are of columns minus `shift`, (k + 2,), their means (0 for
    the ones), to keep precision.
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
    ) -> Self:
        """Return the moments of a frame with one row per observation.

        Raises LingprobError for an empty frame, missing groups, and as `finite_column`.
        """
        names = tuple(dict.fromkeys(predictors))
        if frame.empty:
            raise LingprobError("no rows: the partition or selection of the data is empty.")
        columns = [finite_column(frame, name) for name in (*names, response)]
        if group not in frame:
            raise unknown_name("column", group, map(str, frame.columns))
        codes, groups = pd.factorize(frame[group], sort=True)
        if (codes < 0).any():
            raise LingprobError(f"{group}, row {int((codes < 0).argmax())}: the group is missing.")
        shift = np.array([0.0, *(column.mean(dtype=np.float64) for column in columns)])
        ones = np.ones(len(frame))
        moments = group_moments([ones, *columns], codes, len(groups), shift)
        return cls(response, names, shift, group, pd.Index(groups, name=group), moments)

    @cached_property
    def total(self) -> Array:
        """Return sums of products of the shifted columns over all rows, (k + 2, k + 2)."""
        return self.moments.sum(axis=0)

    @property
    def n(self) -> int:
        """Return the number of rows."""
        return round(self.total[0, 0])

    def deviations(self) -> Array:
        """Return the standard deviations (k + 2,), with n - 1 as in R, and 0 for the ones."""
        squares = np.diag(self.total) - self.total[0] ** 2 / self.n
        return np.sqrt(np.maximum(squares, 0) / max(self.n - 1, 1))


def group_moments(
    columns: list[NDArray], codes: NDArray[np.intp], groups: int, shift: Array | float = 0.0
) -> Array:
    """Return sums of products of columns, each (n,) minus its `shift`, by group: (G, c, c)."""
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


class Basis(NamedTuple):
    """The c columns of a model as combinations of the k + 2 shifted columns of the data.

    `columns`, (k + 2, c), has the combinations. `to_own`, (c, c), turns coefficients of the scaled
    columns (`columns @ to_own`) into those of the model's columns.
    """

    columns: Array
    to_own: Array

    @property
    def scaled(self) -> Array:
        """Return the scaled columns, (k + 2, c)."""
        return self.columns @ self.to_own


def basis(data: MixedModelData, names: tuple[str, ...]) -> Basis:
    """Return the basis of effects by their names. With an intercept, scaled columns are centred."""
    columns = np.zeros((len(data.shift), len(names)))
    to_own = np.eye(len(names))
    spread = data.deviations()
    for place, name in enumerate(names):
        if name == INTERCEPT:
            columns[0, place] = 1
            continue
        at = 1 + data.predictors.index(name)
        columns[at, place], columns[0, place] = 1, data.shift[at]
        if INTERCEPT in names:
            to_own[:, place] /= spread[at] or 1
            to_own[names.index(INTERCEPT), place] = -data.shift[at] * to_own[place, place]
        else:
            square = columns[:, place] @ data.total @ columns[:, place] / data.n
            to_own[:, place] /= np.sqrt(square) or 1
    return Basis(columns, to_own)


def check_names(data: MixedModelData, formula: MixedFormula) -> None:
    """Raise LingprobError if the data lack the formula's response, group or predictors."""
    if (formula.response, formula.group) != (data.response, data.group):
        raise LingprobError(f"{formula.text!r}: the data have {data.response} by {data.group}.")
    for name in formula.predictors:
        if name not in data.predictors:
            raise unknown_name("predictor", name, data.predictors, f"Formula: {formula.text!r}.")


def check_determined(
    data: MixedModelData, formula: MixedFormula, fixed: Basis, random: Basis
) -> None:
    """Raise LingprobError if there are too few rows or groups, or predictors are collinear."""
    levels, q = len(data.groups), len(formula.random)
    if levels < 2:
        raise LingprobError(f"{data.group} has one value: no variance between groups to estimate.")
    if levels * q >= data.n or len(formula.fixed) >= data.n:
        raise LingprobError(
            f"{formula.text!r}: {data.n} rows cannot tell {levels} groups with {q} random effects "
            f"each by {data.group}, or the fixed effects, from the residuals. Give more rows per "
            "group, or leave out random slopes."
        )
    spread = data.deviations()
    for name in formula.predictors:
        at = 1 + data.predictors.index(name)
        if spread[at] <= 1e-12 * abs(data.shift[at]):
            raise LingprobError(
                f"{name} is {data.shift[at]:g} in every row. Leave it out of the formulas."
            )
    for names, columns in ((formula.fixed, fixed), (formula.random, random)):
        _check_collinear(
            formula.text, names, columns.scaled.T @ data.total @ columns.scaled / data.n
        )


def check_residual(text: str, moments: ModelMoments) -> None:
    """Raise LingprobError if fixed and unpenalised group effects determine y, whose sd is 1."""
    q = moments.q
    own, others = moments.with_z[:, :, :q], moments.with_z[:, :, q:]
    # A tiny ridge, because a group may lack rows or variance for all its effects.
    ridge = 1e-14 * np.trace(own, axis1=1, axis2=2) + np.finfo(float).tiny
    coefficients = np.linalg.solve(own + ridge[:, None, None] * np.eye(q), others)
    left = (moments.total - np.einsum("gqi,gqj->ij", others, coefficients)) / moments.n
    values, vectors = np.linalg.eigh(left[:-1, :-1])
    along = vectors.T @ left[:-1, -1]
    kept = values > COLLINEAR
    if left[-1, -1] - (along[kept] ** 2 / values[kept]).sum() < EXACT:
        raise LingprobError(
            f"{text!r}: the fixed and random effects determine the response exactly, so that there "
            "is no residual to fit. Is it constant in each group?"
        )


def _check_collinear(text: str, names: tuple[str, ...], products: Array) -> None:
    """Raise LingprobError if a scaled column is collinear with those before it."""
    for place in range(1, len(names)):
        before, with_it = products[:place, :place], products[:place, place]
        weights = np.linalg.solve(before, with_it)
        if products[place, place] - weights @ with_it < COLLINEAR:
            others = [name for name, weight in zip(names, weights, strict=False)
                      if abs(weight) > 1e-6]  # fmt: skip
            raise LingprobError(
                f"{text!r}: {names[place]} is determined by {', '.join(others)}. Leave one out."
            )
