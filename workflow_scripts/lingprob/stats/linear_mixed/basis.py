"""Which columns of the data a mixed model takes, on which scale, and whether they determine it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lingprob.errors import LingprobError, unknown_name
from lingprob.stats.linear_mixed.formula import INTERCEPT, MixedFormula
from lingprob.stats.linear_mixed.moments import MixedModelData, constant_predictor

Array = NDArray[np.float64]

# A predictor of which the others leave less than this share of its variance is collinear.
COLLINEAR = 1e-10
# A response of which the effects leave less than this share of its variance is determined by them.
EXACT = 1e-12


@dataclass(frozen=True)
class Basis:
    """The columns of a model in terms of the data's shifted ones, in its own and a scaled basis.

    `columns`, (k + 2, c), gives the model's columns; `to_own`, (c, c), takes coefficients of the
    scaled columns, columns @ to_own, to the model's own.
    """

    columns: Array
    to_own: Array

    @property
    def scaled(self) -> Array:
        """The scaled columns, (k + 2, c)."""
        return self.columns @ self.to_own


def basis(data: MixedModelData, names: tuple[str, ...]) -> Basis:
    """Return the basis of the named effects; with an intercept, scaled columns are centred."""
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
    """Raise LingprobError if the formula's response, group or predictors are not the data's."""
    if (formula.response, formula.group) != (data.response, data.group):
        raise LingprobError(
            f"{formula.text!r}: the data have response {data.response} by {data.group}."
        )
    for name in formula.predictors:
        if name not in data.predictors:
            raise unknown_name("predictor", name, data.predictors, f"Formula: {formula.text!r}.")


def response_scale(data: MixedModelData, formula: MixedFormula) -> tuple[float, float]:
    """Return what is subtracted from the response (if it has an intercept) and its scale."""
    spread = data.deviations()[-1]
    if spread == 0:
        raise LingprobError(f"{data.response} is {data.shift[-1]:g} in every row: nothing to fit.")
    return (float(data.shift[-1]) if INTERCEPT in formula.fixed else 0.0), float(spread)


def check_determined(
    data: MixedModelData, formula: MixedFormula, fixed: Basis, random: Basis
) -> None:
    """Raise LingprobError if the data do not determine the model."""
    groups, q = len(data.groups), len(formula.random)
    if groups < 2:
        raise LingprobError(f"{data.group} has one value: no variance between groups to estimate.")
    if groups * q >= data.n or len(formula.fixed) >= data.n:
        raise LingprobError(
            f"{formula.text!r}: {data.n} rows cannot tell {groups} groups with {q} random "
            f"effects each by {data.group}, or the fixed effects, from the residuals. Give "
            "more rows per group, or leave out random slopes."
        )
    spread = data.deviations()
    for name in formula.predictors:
        at = 1 + data.predictors.index(name)
        if spread[at] <= 1e-12 * abs(data.shift[at]):
            raise constant_predictor(name, data.shift[at])
    for names, columns in ((formula.fixed, fixed.scaled), (formula.random, random.scaled)):
        _check_collinear(formula.text, names, columns.T @ data.total @ columns / data.n)


def check_residual(text: str, with_z: Array, total: Array, n: int) -> None:
    """Raise LingprobError if fixed effects and effects free in each group leave no residual.

    Args:
        text: of the formula.
        with_z: (G, q, q + p + 1), each group's products of the random columns Z with [Z, X, y].
        total: (p + 1, p + 1), products of [X, y] over all rows, y of standard deviation 1.
        n: rows.
    """
    q = with_z.shape[1]
    own, others = with_z[:, :, :q], with_z[:, :, q:]
    # A trace of a ridge, as a group may lack rows or variance for all its effects.
    ridge = 1e-14 * np.trace(own, axis1=1, axis2=2) + np.finfo(float).tiny
    coefficients = np.linalg.solve(own + ridge[:, None, None] * np.eye(q), others)
    left = (total - np.einsum("gqi,gqj->ij", others, coefficients)) / n
    values, vectors = np.linalg.eigh(left[:-1, :-1])
    along = vectors.T @ left[:-1, -1]
    kept = values > COLLINEAR
    if left[-1, -1] - (along[kept] ** 2 / values[kept]).sum() < EXACT:
        raise LingprobError(
            f"{text!r}: the fixed and random effects determine the response exactly, so that there "
            "is no residual to fit. Is it constant in each group?"
        )


def _check_collinear(text: str, names: tuple[str, ...], products: Array) -> None:
    """Raise LingprobError if one of the scaled columns is determined by those before it."""
    for place in range(1, len(names)):
        before, with_it = products[:place, :place], products[:place, place]
        weights = np.linalg.solve(before, with_it)
        if products[place, place] - weights @ with_it < COLLINEAR:
            others = [name for name, weight in zip(names, weights, strict=False)
                      if abs(weight) > 1e-6]  # fmt: skip
            raise LingprobError(
                f"{text!r}: {names[place]} is determined by {', '.join(others)}. Leave one out."
            )
