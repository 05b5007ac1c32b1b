"""Beyond MORCELA's straight lines: another power of length, and curves in frequency and length.

MORCELA divides by the length l and takes the rating for linear in p/l, u/l and 1/l (morcela, §2).
`length_exponent` asks which power of l the ratings want, `splines` what curves of u/l and l; for
these it uses formulaic's natural cubic splines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from formulaic import model_matrix
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import chi2
from scipy.stats import t as student

from lingprob.errors import LingprobError
from lingprob.regression.designs import checked_inputs
from lingprob.regression.linking_predictions import Sentences, fit_predictor, sentences

Array = NDArray[np.float64]

# Exponents that are considered; an interval that reaches an end is open there.
EXPONENTS = (-1.0, 3.0)
GRID = 81
SPLINE = "p + cr(u, df=4, constraints='center') + cr(l, df=4, constraints='center')"
FEWEST_VALUES = 5
POINTS = 41
DECIMALS = 9  # of nats a token; what differs behind them is rounding


class LengthExponent(NamedTuple):
    """The power of the length that fits best, its profile-likelihood interval (an end beyond
    EXPONENTS is infinite), MORCELA's parameters with it, and the sum of squared errors."""

    alpha: float
    alpha_low: float
    alpha_high: float
    beta: float
    gamma: float
    sse: float


@dataclass(frozen=True)
class Splines:
    """A fit with curves: `data` for refits, `sse`, and `curves`: term ("u/l" in nats, "l" in
    tokens), value, effect on the rating less its mean, low and high of its 95% interval."""

    data: Sentences
    sse: float
    curves: pd.DataFrame


def length_exponent(
    logprob: ArrayLike,
    unigram_logprob: ArrayLike,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    confidence: float = 0.95,
) -> LengthExponent:
    """Fit rating ~ (a p + b u + c) / l^alpha + d, arguments as of `fit_linking_functions`.

    The interval is that of the profile likelihood: n ln(SSE(alpha) / SSE) up to the quantile of
    chi-squared, sentences being independent and errors normal with one variance. Raises
    LingprobError as `checked_inputs`, and where lengths take fewer than five values.
    """
    inputs = _with_unigrams(logprob, unigram_logprob, n_tokens, rating)
    n = len(inputs["rating"])

    def sse(alpha: float) -> float:
        design, y = _power_design(alpha, inputs), inputs["rating"]
        coefficients, *_ = np.linalg.lstsq(design, y)
        return float(((y - design @ coefficients) ** 2).sum())

    grid = np.linspace(EXPONENTS[0], EXPONENTS[1], GRID)
    best = grid[int(np.argmin([sse(alpha) for alpha in grid]))]
    near = (max(best - 0.1, EXPONENTS[0]), min(best + 0.1, EXPONENTS[1]))
    alpha = float(minimize_scalar(sse, bounds=near, method="bounded", options={"xatol": 1e-6}).x)
    least, reach = sse(alpha), chi2.ppf(confidence, 1)

    def beyond(other: float) -> float:
        return float(n * np.log(sse(other) / least) - reach)

    ends = [brentq(beyond, alpha, end) if beyond(end) > 0 else end * np.inf for end in EXPONENTS]
    a, b, c = np.linalg.lstsq(_power_design(alpha, inputs), inputs["rating"])[0][1:]
    # The third column is (l^-alpha - 1) / alpha.
    return LengthExponent(alpha, ends[0], ends[1], float(-b / a), float(c / alpha / a), least)


def splines(
    logprob: ArrayLike,
    unigram_logprob: ArrayLike,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    unit: ArrayLike | None = None,
) -> Splines:
    """Fit rating ~ a p/l + f(u/l) + g(l) + d with natural cubic splines f and g of four degrees.

    Intervals are pointwise, by sandwich covariances over `unit` as in `linking_predictions`.
    Raises LingprobError as `length_exponent`.
    """
    inputs = _with_unigrams(logprob, unigram_logprob, n_tokens, rating)
    length = inputs["n_tokens"]
    # Knots are quantiles of the different values, and sentences of the same tokens have one: in
    # what order their terms were summed up must not make it two.
    columns = {
        "p": inputs["logprob"] / length,
        "u": np.round(inputs["unigram_logprob"] / length, DECIMALS),
        "l": length,
    }
    basis = model_matrix(SPLINE, pd.DataFrame(columns))
    given = sentences("morcela", logprob, unigram_logprob, n_tokens, rating, unit)
    data = given._replace(linking_function="splines", design=_independent(basis.to_numpy()))
    predictor = fit_predictor(data)
    residual = data.rating - data.design @ predictor.coefficients
    reach = student.ppf(0.975, predictor.freedom)
    tables = []
    for term, name in (("u/l", "u"), ("l", "l")):
        low, high = np.quantile(columns[name], [0.01, 0.99])
        values = np.linspace(low, high, POINTS)
        moved = {key: np.full(POINTS, column.mean()) for key, column in columns.items()}
        design = basis.model_spec.get_model_matrix(pd.DataFrame({**moved, name: values})).to_numpy()
        design = design - design.mean(axis=0)
        effect = design @ predictor.coefficients
        half = reach * np.sqrt(np.einsum("ij,jk,ik->i", design, predictor.covariance, design))
        tables.append(
            pd.DataFrame({"term": term, "value": values, "effect": effect,
                          "effect_low": effect - half, "effect_high": effect + half})
        )  # fmt: skip
    return Splines(data, float(residual @ residual), pd.concat(tables, ignore_index=True))


def _with_unigrams(
    logprob: ArrayLike, unigram_logprob: ArrayLike, n_tokens: ArrayLike, rating: ArrayLike
) -> dict[str, Array]:
    inputs = checked_inputs(logprob, unigram_logprob, n_tokens, rating)
    lengths = len(np.unique(inputs["n_tokens"]))
    if "unigram_logprob" not in inputs or lengths < FEWEST_VALUES:
        raise LingprobError(
            f"curves need unigram_logprob and {FEWEST_VALUES} different lengths at least; there "
            f"are {lengths}. Give sentences of more varied length, or a unigram source."
        )
    return inputs


def _power_design(alpha: float, inputs: dict[str, Array]) -> Array:
    """Return ones, p/l^alpha, u/l^alpha and (l^-alpha - 1)/alpha, which is -ln l at alpha 0."""
    log_length = np.log(inputs["n_tokens"])
    power = np.exp(-alpha * log_length)
    third = -log_length if abs(alpha) < 1e-8 else np.expm1(-alpha * log_length) / alpha
    ones = np.ones_like(power)
    return np.column_stack(
        [ones, inputs["logprob"] * power, inputs["unigram_logprob"] * power, third]
    )


def _independent(design: Array) -> Array:
    if np.linalg.matrix_rank(design / np.abs(design).max(axis=0), tol=1e-8) < design.shape[1]:
        raise LingprobError(
            "splines: frequencies and lengths of these sentences determine no curves. Give more "
            "varied sentences."
        )
    return design
