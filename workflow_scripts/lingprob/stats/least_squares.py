"""Ordinary least squares with the log-likelihood of data that were not fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from lingprob.errors import LingprobError

# A column that the others explain to this share of its size is none of its own.
COLLINEAR = 1e-9
# A residual below this share of the response's size is rounding.
EXACT = 1e-12


@dataclass(frozen=True)
class LeastSquaresFit:
    """A fitted linear regression with Gaussian errors.

    `coefficients` and `standard_errors` are by predictor, `Intercept` first; `sigma` is the maximum
    likelihood one (no degrees of freedom taken off), `log_likelihood` (nats) of the fitted data.
    """

    response: str
    coefficients: pd.Series
    standard_errors: pd.Series
    sigma: float
    log_likelihood: float
    n: int

    def log_likelihoods(self, frame: pd.DataFrame) -> np.ndarray:
        """Return the log-likelihood (nats) of each row of `frame`, shape (len(frame),)."""
        design = _design(frame, list(self.coefficients.index[1:]))
        residual = frame[self.response].to_numpy(float) - design @ self.coefficients.to_numpy()
        return -0.5 * np.log(2 * np.pi * self.sigma**2) - residual**2 / (2 * self.sigma**2)


def fit_least_squares(
    frame: pd.DataFrame, response: str, predictors: Sequence[str]
) -> LeastSquaresFit:
    """Regress a column on others and an intercept.

    Args:
        frame: the data; no NaN in the columns used.
        response: the regressed column.
        predictors: the columns it is regressed on.

    Raises LingprobError that names an unknown column, one with a NaN or an infinity, a constant
    predictor, the first predictor that those before it explain, a response without any error, and
    if there are too few rows.
    """
    for column in [response, *predictors]:
        if column not in frame.columns:
            raise LingprobError(f"regression: no column {column!r}, but {list(frame.columns)}.")
        values = frame[column].to_numpy(float)
        if not np.isfinite(values).all():
            row = int((~np.isfinite(values)).argmax())
            raise LingprobError(f"regression: column {column!r}, row {row} is {values[row]}.")
    design, y = _design(frame, predictors), frame[response].to_numpy(float)
    n, width = design.shape
    if n <= width:
        raise LingprobError(f"regression: {n} rows for {width} coefficients. It needs more data.")
    _check_rank(design, predictors)
    q, r = np.linalg.qr(design)
    coefficients = np.linalg.solve(r, q.T @ y)
    residual = y - design @ coefficients
    squares = float(residual @ residual)
    sigma = float(np.sqrt(squares / n))
    if sigma <= EXACT * np.sqrt(np.mean(y**2)):
        raise LingprobError(
            f"regression: the predictors explain {response!r} without any error. Is it computed "
            "from them, or constant?"
        )
    inverse = np.linalg.inv(r)
    errors = np.sqrt(squares / (n - width) * (inverse**2).sum(axis=1))
    names = ["Intercept", *predictors]
    log_likelihood = -0.5 * n * (np.log(2 * np.pi * squares / n) + 1)
    return LeastSquaresFit(
        response, pd.Series(coefficients, names), pd.Series(errors, names), sigma,
        float(log_likelihood), n,
    )  # fmt: skip


def _design(frame: pd.DataFrame, predictors: Sequence[str]) -> np.ndarray:
    return np.column_stack([np.ones(len(frame)), *(frame[p].to_numpy(float) for p in predictors)])


def _check_rank(design: np.ndarray, predictors: Sequence[str]) -> None:
    for place, name in enumerate(predictors, start=1):
        column = design[:, place]
        if np.ptp(column) == 0:
            raise LingprobError(
                f"regression: the predictor {name!r} is {column[0]} in every row, so it has no "
                "coefficient. Leave it out."
            )
    scaled = design / np.linalg.norm(design, axis=0)
    diagonal = np.abs(np.diag(np.linalg.qr(scaled, mode="r")))
    if (diagonal < COLLINEAR).any():
        place = int((diagonal < COLLINEAR).argmax())
        raise LingprobError(
            f"regression: the predictor {predictors[place - 1]!r} is a combination of those before "
            f"it ({['Intercept', *predictors[: place - 1]]}). Leave one out."
        )
