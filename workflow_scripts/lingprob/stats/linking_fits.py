"""Fit linking functions to all sentences and to reweighted ones, and predict ratings.

A least-squares fit depends on the sentences only through weighted sums of products of columns. So
thousands of fits take one matrix product: weights (fits x sentences) times products of columns
(sentences x pairs of columns).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lingprob.errors import LingprobError, refuse_values, unknown_name
from lingprob.stats.least_squares import refuse_collinear
from lingprob.stats.resampling import standardise, unit_numbers

Array = NDArray[np.float64]

# Functions of one term need no fit: the term itself is the score.
LINKING_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "logprob": ("p",),
    "mean_logprob": ("p/l",),
    "slor": ("(p-u)/l",),
    "morcela": ("p/l", "u/l", "1/l"),
    "morcela_beta_1": ("(p-u)/l", "1/l"),
    "morcela_gamma_0": ("p/l", "u/l"),
}
# The covariance of whitened terms has determinant 1 over all sentences. If it is this small in a
# resample, its terms are (nearly) collinear and determine no fit.
SINGULAR = 1e-10
PREDICTED = ["predicted", "predicted_low", "predicted_high", "rating_low", "rating_high"]


class Fit(NamedTuple):
    """One linking function fitted to all sentences, and the columns of its refits.

    `columns`, (n, k + 2) float64: ones, the k whitened terms, the standardised rating.
    `to_slopes`, (k, k) float64, takes slopes of the standardised rating on whitened terms to those
    of the rating on the terms.
    """

    name: str
    terms: tuple[str, ...]
    columns: Array
    to_slopes: Array
    slopes: Array
    r: float
    sse: float


def checked_inputs(
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    rating: ArrayLike | None,
) -> dict[str, Array]:
    """Return the arguments, (n,) each, as float64 arrays by name.

    A `rating` of None, and a unigram_logprob of None or all NaN, are left out. Raises
    LingprobError for unequal lengths, missing or infinite values, log-probabilities above 0, a
    constant rating, and n_tokens below 1.
    """
    given = {"logprob": logprob, "n_tokens": n_tokens, "rating": rating}
    given["unigram_logprob"] = unigram_logprob
    inputs = {
        name: np.asarray(values, np.float64) for name, values in given.items() if values is not None
    }
    shapes = {name: values.shape for name, values in inputs.items()}
    if len(set(shapes.values())) > 1 or inputs["logprob"].ndim != 1:
        raise LingprobError(f"arguments must be one-dimensional and of one length; got {shapes}.")
    if "unigram_logprob" in inputs and np.isnan(inputs["unigram_logprob"]).all():
        del inputs["unigram_logprob"]
    for name, values in inputs.items():
        refuse_values(name, values, ~np.isfinite(values), "drop or complete such rows first")
        if name.endswith("logprob"):
            refuse_values(name, values, values > 0, "turn the sign of surprisals")
    if len(set(inputs.get("rating", []))) == 1:
        raise LingprobError(f"rating is {inputs['rating'][0]:g} in every row: nothing to fit.")
    refuse_values("n_tokens", inputs["n_tokens"], inputs["n_tokens"] < 1, "it must be at least 1")
    return inputs


def fit_design(name: str, inputs: dict[str, Array]) -> Fit:
    """Return the fit of a linking function to all sentences, given `checked_inputs`."""
    # This import takes about a second.
    from statsmodels.regression.linear_model import OLS

    rating, names, design = inputs["rating"], LINKING_FUNCTIONS[name], _design(name, inputs)
    _refuse_collinear(name, design)
    model, terms = OLS(rating, design).fit(), design[:, 1:]
    score = terms[:, 0] if len(names) == 1 else model.fittedvalues
    deviations = terms - terms.mean(axis=0)
    sd = deviations.std(axis=0)
    orthogonal, triangle = np.linalg.qr(deviations / sd)
    # Signs such that a single whitened term rises with the term itself.
    signs = np.sign(np.diag(triangle))
    whitened = orthogonal * signs * np.sqrt(len(rating))
    to_slopes = np.linalg.inv(triangle * signs[:, None]) * np.sqrt(len(rating)) / sd[:, None]
    to_slopes *= rating.std()
    return Fit(
        name=name,
        terms=names,
        columns=np.column_stack([np.ones(len(rating)), whitened, standardise(rating)]),
        to_slopes=to_slopes,
        slopes=np.asarray(model.params[1:]),
        r=float(np.corrcoef(score, rating)[0, 1]),
        sse=float(model.ssr),
    )


def weighted_moments(columns: Mapping[str, Array], weights: NDArray) -> dict[str, Array]:
    """Return sums of products of each function's columns (n, m) with weights (..., n).

    They have the shape (..., m, m), float64.
    """
    shape, flat = weights.shape[:-1], weights.reshape(-1, weights.shape[-1])
    pairs = {name: np.triu_indices(array.shape[1]) for name, array in columns.items()}
    products = [columns[name][:, i] * columns[name][:, j] for name, (i, j) in pairs.items()]
    sums = flat.astype(np.float64) @ np.column_stack(products)
    moments, start = {}, 0
    for name, (i, j) in pairs.items():
        size = columns[name].shape[1]
        matrices = np.empty((len(flat), size, size))
        matrices[:, i, j] = matrices[:, j, i] = sums[:, start : start + len(i)]
        moments[name] = matrices.reshape(*shape, size, size)
        start += len(i)
    return moments


def covariances(moments: Array) -> Array:
    """Return the weighted covariance (..., m - 1, m - 1) of the columns but the first (ones)."""
    total = np.maximum(moments[..., :1, :1], 1)  # without any row the covariance is 0
    means = moments[..., :1, 1:] / total
    return moments[..., 1:, 1:] / total - means * np.swapaxes(means, -1, -2)


def fitted_slopes(moments: Array) -> Array:
    """Return OLS slopes (..., k) of whitened terms, or NaN for collinear terms."""
    of_all = covariances(moments)
    of_terms, with_rating = of_all[..., :-1, :-1], of_all[..., :-1, -1:]
    singular = np.linalg.det(of_terms) < SINGULAR
    of_terms[singular] = np.eye(of_terms.shape[-1])
    return np.where(singular[..., None], np.nan, np.linalg.solve(of_terms, with_rating)[..., 0])


def scoring_slopes(fit: Fit, moments: Array) -> Array:
    """Return slopes (..., k): learned from `moments`, or 1 for a single term."""
    if len(fit.terms) == 1:
        return np.ones((*moments.shape[:-2], 1))
    return fitted_slopes(moments)


def correlations(moments: Array, slopes: Array) -> Array:
    """Return r (...) of predictions by slopes (..., k) with ratings, NaN if either do not vary."""
    shared, of_predictions, of_rating = score_covariances(covariances(moments), slopes)
    varies = (of_predictions > SINGULAR * (slopes**2).sum(axis=-1)) & (of_rating > SINGULAR)
    r = np.full(varies.shape, np.nan)
    r[varies] = shared[varies] / np.sqrt(of_predictions[varies] * of_rating[varies])
    return r


def score_covariances(covariance: Array, slopes: Array) -> tuple[Array, Array, Array]:
    """Return the covariance of predictions with the rating, and the variance of each.

    Predictions use `slopes` (..., k), and each result has the shape (...).
    """
    of_predictions = np.einsum("...i,...ij,...j", slopes, covariance[..., :-1, :-1], slopes)
    shared = np.einsum("...i,...i", slopes, covariance[..., :-1, -1])
    return shared, of_predictions, covariance[..., -1, -1]


def needs_unigrams(name: str) -> bool:
    """Return whether a linking function has a term with the unigram log-probability."""
    return any("u" in term for term in LINKING_FUNCTIONS[name])


class RatedSentences(NamedTuple):
    """Sentences that a linking function is fitted to for predictions.

    `design`, (n, k + 1), has ones first; `unit`, (n,) int from 0, is the number of the unit (pair,
    article) that a sentence was sampled with.
    """

    linking_function: str
    design: Array
    rating: Array
    unit: NDArray[np.intp]


def rated_sentences(
    linking_function: str,
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    unit: ArrayLike | None = None,
) -> RatedSentences:
    """Check rated sentences for a fit; arguments (n,) as of `fit_linking_functions`.

    `unit` has ids of the sampled units (pairs, articles). If None, each sentence is a unit.
    """
    if linking_function not in LINKING_FUNCTIONS:
        raise unknown_name("linking function", linking_function, LINKING_FUNCTIONS)
    inputs = checked_inputs(logprob, unigram_logprob, n_tokens, rating)
    design = _design(linking_function, inputs)
    number = unit_numbers("unit", unit, len(design))
    if number.max() < design.shape[1]:
        raise LingprobError(
            f"{linking_function}: {int(number.max()) + 1} units (sentences, pairs or articles) are "
            f"too few for {design.shape[1]} coefficients. Give more rated sentences."
        )
    _refuse_collinear(linking_function, design)
    return RatedSentences(linking_function, design, inputs["rating"], number)


def _refuse_collinear(linking_function: str, design: Array) -> None:
    names = ["ones", *LINKING_FUNCTIONS[linking_function]]
    about = f"{linking_function} (p logprob, u unigram_logprob, l n_tokens)"
    refuse_collinear(about, names, design)


def predict_ratings(
    sentences: RatedSentences,
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    confidence: float = 0.95,
) -> pd.DataFrame:
    """Predict ratings of m other sentences by a linking function fitted to rated ones.

    Functions of one term have a slope and an intercept too, so every prediction is on the scale of
    the ratings. Covariances are robust to dependence within units, with units minus one degrees of
    freedom. Of the columns (`PREDICTED`), predicted_low and predicted_high are the interval of the
    mean rating of all sentences with these values. rating_low and rating_high are the interval of
    the rating of one such sentence, with normal residuals of one variance.
    """
    # This import takes about a second.
    from scipy.stats import t as student
    from statsmodels.regression.linear_model import OLS

    fit = OLS(sentences.rating, sentences.design).fit()
    robust = fit.get_robustcov_results(cov_type="cluster", groups=sentences.unit)
    inputs = checked_inputs(logprob, unigram_logprob, n_tokens, None)
    design = _design(sentences.linking_function, inputs)
    mean = design @ fit.params
    variance = np.einsum("ij,jk,ik->i", design, np.asarray(robust.cov_params()), design)
    reach = student.ppf((1 + confidence) / 2, int(sentences.unit.max()))
    of_mean = reach * np.sqrt(variance)
    of_rating = reach * np.sqrt(variance + fit.mse_resid)
    values = [mean, mean - of_mean, mean + of_mean, mean - of_rating, mean + of_rating]
    return pd.DataFrame(dict(zip(PREDICTED, values, strict=True)))


def predict_held_out(sentences: RatedSentences) -> Array:
    """Return the rating of each sentence predicted by a fit without its unit, (n,) float64."""
    predictions = np.empty(len(sentences.rating))
    for number in range(int(sentences.unit.max()) + 1):
        left = sentences.unit == number
        coefficients, *_ = np.linalg.lstsq(sentences.design[~left], sentences.rating[~left])
        predictions[left] = sentences.design[left] @ coefficients
    return predictions


def _design(linking_function: str, inputs: dict[str, Array]) -> Array:
    """Return ones and the terms of a linking function, (n, k + 1) float64."""
    if needs_unigrams(linking_function) and "unigram_logprob" not in inputs:
        raise LingprobError(
            f"{linking_function}: it needs unigram_logprob, and these sentences have none. Name a "
            "unigram source in the model's entry, or ask for logprob or mean_logprob."
        )
    p, length = inputs["logprob"], inputs["n_tokens"]
    u = inputs.get("unigram_logprob", np.full_like(p, np.nan))
    terms = {
        "p": p,
        "p/l": p / length,
        "u/l": u / length,
        "(p-u)/l": (p - u) / length,
        "1/l": 1 / length,
    }
    names = LINKING_FUNCTIONS[linking_function]
    return np.column_stack([np.ones(len(p)), *(terms[name] for name in names)])
