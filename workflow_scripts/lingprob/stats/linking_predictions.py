"""A fitted linking function predicts ratings of other sentences, and says how surely.

    from lingprob.stats.linking_predictions import fit_predictor, sentences
    rated = sentences("morcela", logprob, unigram_logprob, n_tokens, rating)
    fit_predictor(rated).predict(other_logprob, other_unigram_logprob, other_n_tokens)

The regression is that of `linking.fit_linking_functions` (morcela, §2), with a slope and an
intercept for functions of one term too, so that every prediction is on the scale of the ratings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.stats import t as student

from lingprob.errors import LingprobError, unknown_name
from lingprob.stats.linking import needs_unigrams
from lingprob.stats.linking_fits import LINKING_FUNCTIONS, checked_inputs, linking_terms

Array = NDArray[np.float64]
Ints = NDArray[np.intp]
COLUMNS = ["predicted", "predicted_low", "predicted_high", "rating_low", "rating_high"]


class Sentences(NamedTuple):
    """What a linking function is fitted to: `design` (n, k + 1), ones first, `rating` (n,), and
    the number of each sentence's unit, (n,), from 0: what is sampled and left out as a whole."""

    linking_function: str
    design: Array
    rating: Array
    unit: Ints


@dataclass(frozen=True)
class Predictor:
    """A linking function fitted to rated sentences.

    `coefficients`, (k + 1,), has the intercept first, then the slopes of its terms; `covariance`,
    (k + 1, k + 1), is robust to unequal variances and to dependence within units, `sigma` the
    residual standard deviation, `freedom` the degrees of freedom of intervals: units less one.
    """

    linking_function: str
    coefficients: Array
    covariance: Array
    sigma: float
    freedom: int

    def predict(
        self,
        logprob: ArrayLike,
        unigram_logprob: ArrayLike | None,
        n_tokens: ArrayLike,
        confidence: float = 0.95,
    ) -> pd.DataFrame:
        """Predict ratings of m sentences; logprob and unigram_logprob (nats), n_tokens: (m,).

        Returns, float64 on the scale of the ratings: predicted; predicted_low and predicted_high,
        the interval of the mean rating of all sentences with these values, which tells how surely
        the function is known; rating_low and rating_high, that of one such sentence's rating,
        residuals being normal with one variance. Raises LingprobError as `checked_inputs`.
        """
        inputs = checked_inputs(logprob, unigram_logprob, n_tokens, None)
        design = _design(self.linking_function, inputs)
        mean = design @ self.coefficients
        variance = np.einsum("ij,jk,ik->i", design, self.covariance, design)
        reach = student.ppf((1 + confidence) / 2, self.freedom)
        of_mean = reach * np.sqrt(variance)
        of_rating = reach * np.sqrt(variance + self.sigma**2)
        values = [mean, mean - of_mean, mean + of_mean, mean - of_rating, mean + of_rating]
        return pd.DataFrame(dict(zip(COLUMNS, values, strict=True)))


def fit_predictor(data: Sentences) -> Predictor:
    """Fit a linking function to rated sentences, with sandwich covariances over their units."""
    # About a second to import.
    from statsmodels.regression.linear_model import OLS

    fit = OLS(data.rating, data.design).fit()
    robust = fit.get_robustcov_results(cov_type="cluster", groups=data.unit)
    return Predictor(
        data.linking_function,
        np.asarray(fit.params),
        np.asarray(robust.cov_params()),
        float(np.sqrt(fit.mse_resid)),
        int(data.unit.max()),
    )


def sentences(
    linking_function: str,
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    unit: ArrayLike | None = None,
) -> Sentences:
    """Check rated sentences, arguments (n,) as of `fit_linking_functions`, for a fit.

    `unit`, any ids, are what was sampled (pairs, articles); None takes each sentence for itself.
    Raises LingprobError for too few units, terms that do not determine a fit, a linking function
    without its unigrams, and as `checked_inputs`.
    """
    if linking_function not in LINKING_FUNCTIONS:
        raise unknown_name("linking function", linking_function, LINKING_FUNCTIONS)
    inputs = checked_inputs(logprob, unigram_logprob, n_tokens, rating)
    design = _design(linking_function, inputs)
    number, _ = pd.factorize(np.arange(len(design)) if unit is None else pd.Series(unit))
    if len(number) != len(design) or (number < 0).any():
        raise LingprobError(
            f"unit has {int((number >= 0).sum())} values for {len(design)} sentences: name the "
            "unit of every one."
        )
    if number.max() < design.shape[1]:
        raise LingprobError(
            f"{linking_function}: {int(number.max()) + 1} units (sentences, pairs or articles) are "
            f"too few for {design.shape[1]} coefficients. Give more rated sentences."
        )
    scaled = design / np.abs(design).max(axis=0)
    if np.linalg.matrix_rank(scaled, tol=1e-8) < design.shape[1]:
        raise LingprobError(
            f"{linking_function}: a term of {', '.join(LINKING_FUNCTIONS[linking_function])} does "
            "not vary, or others determine it. Give sentences of more varied length and frequency."
        )
    return Sentences(linking_function, design, inputs["rating"], number)


def held_out(data: Sentences, fold: Ints) -> Array:
    """Return predictions (n,), each sentence's from a fit without its fold.

    `fold`, (n,) int from 0, may be `data.unit`: then one unit after the other is left out.
    """
    predictions = np.empty(len(data.rating))
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        coefficients, *_ = np.linalg.lstsq(data.design[~inside], data.rating[~inside])
        predictions[inside] = data.design[inside] @ coefficients
    return predictions


def _design(linking_function: str, inputs: dict[str, Array]) -> Array:
    terms = LINKING_FUNCTIONS[linking_function]
    if needs_unigrams(linking_function) and "unigram_logprob" not in inputs:
        raise LingprobError(
            f"{linking_function}: it needs unigram_logprob, and these sentences have none. Name a "
            "unigram source in the model's entry, or ask for logprob or mean_logprob."
        )
    values = linking_terms(terms, inputs)
    return np.column_stack([np.ones(len(values)), values])
