"""Linking functions: from a sentence's log-probability to its acceptability (morcela, §2-§3.4).

With p a sentence's logprob, u its unigram_logprob (both nats) and l its n_tokens, each linking
function is an ordinary least-squares (OLS) regression of the rating on a few terms. MORCELA,
rating ~ a p/l + b u/l + c 1/l + d, has beta = -b/a and gamma = c/a.

    from lingprob.regression.linking import fit_linking_functions
    fits = fit_linking_functions(table.logprob, table.unigram_logprob, table.n_tokens, table.rating)
    print(fits[["linking_function", "r_cv", "beta", "gamma"]])

Cross-validation and bootstrap need thousands of fits of the same few terms on reweighted
sentences. Such a fit depends on the sentences only through weighted sums of products of terms,
and all these sums are one product of matrices: weights (fits x sentences) times products of terms
(sentences x pairs of terms).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from lingprob.errors import LingprobError, unknown_name
from lingprob.regression.resampling import (
    fold_numbers,
    interval,
    resample_counts,
    standardise,
    tails,
)

logger = logging.getLogger(__name__)

Array = NDArray[np.float64]

# A function of one term has nothing to learn: the term itself is its score.
LINKING_FUNCTIONS: dict[str, tuple[str, ...]] = {
    "logprob": ("p",),
    "mean_logprob": ("p/l",),
    "slor": ("(p-u)/l",),
    "morcela": ("p/l", "u/l", "1/l"),
    "morcela_beta_1": ("(p-u)/l", "1/l"),
    "morcela_gamma_0": ("p/l", "u/l"),
}
# The term that learns the parameter, its sign in the ratio to the first slope, the value if set.
PARAMETERS = {"beta": ("u/l", -1.0, 1.0), "gamma": ("1/l", 1.0, 0.0)}
MINIMUM_PER_FOLD = 5
# The covariance of whitened terms has determinant 1 over all sentences; a resample in which it
# is this small holds (nearly) collinear terms and determines no fit.
SINGULAR = 1e-10


class Fit(NamedTuple):
    """One linking function fitted on all sentences, and what its refits need.

    `columns`, (n, k + 2) float64: ones, the k whitened terms, the standardised rating.
    `to_slopes`, (k, k) float64, takes slopes of whitened terms to slopes of the terms.
    """

    name: str
    terms: tuple[str, ...]
    columns: Array
    to_slopes: Array
    slopes: Array
    r: float
    sse: float


def fit_linking_functions(
    logprob: ArrayLike,
    unigram_logprob: ArrayLike | None,
    n_tokens: ArrayLike,
    rating: ArrayLike,
    *,
    linking_functions: Iterable[str] = LINKING_FUNCTIONS,
    folds: int = 5,
    repeats: int = 100,
    bootstrap: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
    pairs: ArrayLike | None = None,
) -> pd.DataFrame:
    """Fit and evaluate linking functions on n sentences; return one row a function.

    The arguments before the star have shape (n,): logprob and unigram_logprob in nats, n_tokens
    at least 1, rating usually the mean z-score of a sentence. Without unigram_logprob (None, or
    NaN throughout) the functions that need it are left out. (morcela, §3.4, appendix C)

    Columns of the result, float64 unless stated:

    - linking_function (text), predictors and n (int): predictors counts the intercept.
    - r_cv: Pearson's r between held-out predictions and ratings, averaged over the test folds
      and then over `repeats` shuffles into folds. Where nothing is learned (one term) the score
      itself is correlated, so that a wrong sign shows.
    - r_cv_low, r_cv_high: central interval of the repeats' averages. It tells how far another
      shuffle may move r_cv; it is no sampling error and shrinks to nothing as n grows.
    - r, r_low, r_high: in-sample r of the fit on all data, with a percentile interval of refits
      on sentences drawn with replacement: the sampling error.
    - beta, gamma, and _low, _high from the same refits. Values that a function sets rather than
      learns have no interval; functions without unigrams have neither. Both are ratios: a refit
      whose slope of the logprob is near zero gives a wild value, which percentiles tolerate;
      non-finite ones are logged and left out.
    - sse, aic, bic of the OLS fit of the terms with intercept on all data.
    - over_slor, below_morcela, and _low, _high: r_cv less SLOR's, and MORCELA's r_cv less this,
      with the sampling error of the same refits, paired. The interval is the basic one (the
      estimate less the refits' deviations from the in-sample difference): a function with more
      terms gains from the noise of every resample, so that percentiles alone would show a gain
      where there is none. NaN where a function is left out, and for a function beside itself.

    `pairs`, any ids of shape (n,), keeps the sentences of a pair in one fold and resamples pairs
    instead of sentences; None is the paper's convention. All functions see the same folds and
    resamples. The authors' released code scores the functions of one term once, on all
    sentences: compare the paper's values for those with r rather than r_cv.

    Raises LingprobError for input of unequal lengths, missing or infinite values, n_tokens below
    1, terms that do not determine a fit, or too few sentences for the folds. Memory grows with
    bootstrap times n: 24 bytes for each of these.
    """
    names = _known(linking_functions)
    inputs = _checked(logprob, unigram_logprob, n_tokens, rating)
    unit = _units(pairs, len(inputs["rating"]))
    _check_options(unit, folds, repeats, bootstrap, confidence)
    if "unigram_logprob" not in inputs:
        logger.info("no unigram_logprob: leaving out what needs it of %s", ", ".join(names))
        names = [name for name in names if not _needs_unigrams(name)]
    if not names:
        raise LingprobError("linking_functions: none is left that these arguments allow.")
    fits = [_fit(name, inputs) for name in names]
    units = int(unit.max()) + 1
    shuffles = fold_numbers(units, folds, repeats, np.random.default_rng([seed, 0]))
    resamples = resample_counts(units, bootstrap, np.random.default_rng([seed, 1]))
    in_folds = _moments(fits, shuffles[:, None, unit] == np.arange(folds)[:, None])
    resampled = _moments(fits, resamples[:, unit])
    rows = {
        fit.name: {
            "linking_function": fit.name,
            **_cross_validation(fit, in_folds[fit.name], confidence),
            **_full_fit(fit, resampled[fit.name], confidence),
        }
        for fit in fits
    }
    drawn = {
        fit.name: _correlation(resampled[fit.name], _scores_or_fits(fit, resampled[fit.name]))
        for fit in fits
    }
    for name, row in rows.items():
        row |= _difference("over_slor", rows, drawn, (name, "slor"), confidence)
        row |= _difference("below_morcela", rows, drawn, ("morcela", name), confidence)
    return pd.DataFrame(list(rows.values()))


def information_criteria(sse: float, n: int, predictors: int) -> tuple[float, float]:
    """Return (AIC, BIC) of an OLS fit up to a constant; `predictors` counts the intercept.

    AIC = n ln(sse/n) + 2k and BIC = n ln(sse/n) + k ln n (morcela, appendix C.2).
    """
    fit = n * np.log(sse / n)
    return float(fit + 2 * predictors), float(fit + predictors * np.log(n))


def _needs_unigrams(name: str) -> bool:
    return any("u" in term for term in LINKING_FUNCTIONS[name])


def _known(linking_functions: Iterable[str]) -> list[str]:
    names = list(linking_functions)
    for name in names:
        if name not in LINKING_FUNCTIONS:
            raise unknown_name("linking function", name, LINKING_FUNCTIONS)
    return names


def _checked(
    logprob: ArrayLike, unigram_logprob: ArrayLike | None, n_tokens: ArrayLike, rating: ArrayLike
) -> dict[str, Array]:
    """Return the inputs by name as float64 (n,), checked; without unigram_logprob if it is void."""
    given = {"logprob": logprob, "n_tokens": n_tokens, "rating": rating}
    if unigram_logprob is not None:
        given["unigram_logprob"] = unigram_logprob
    inputs = {name: np.asarray(values, dtype=np.float64) for name, values in given.items()}
    shapes = {name: values.shape for name, values in inputs.items()}
    if len(set(shapes.values())) > 1 or inputs["rating"].ndim != 1:
        raise LingprobError(f"arguments must be one-dimensional and of one length; got {shapes}.")
    if "unigram_logprob" in inputs and np.isnan(inputs["unigram_logprob"]).all():
        del inputs["unigram_logprob"]
    for name, values in inputs.items():
        _check_rows(name, values, ~np.isfinite(values), "drop or complete such rows first")
    if len(set(inputs["rating"])) == 1:
        raise LingprobError(f"rating is {inputs['rating'][0]:g} in every row: nothing to fit.")
    _check_rows("n_tokens", inputs["n_tokens"], inputs["n_tokens"] < 1, "it must be at least 1")
    return inputs


def _check_rows(name: str, values: Array, at_fault: NDArray[np.bool_], remedy: str) -> None:
    if at_fault.any():
        row = int(at_fault.argmax())
        raise LingprobError(
            f"{name}, row {row}: {values[row]:g} ({int(at_fault.sum())} such rows); {remedy}."
        )


def _units(pairs: ArrayLike | None, n: int) -> NDArray:
    """Return the number, (n,) int, of the unit (sentence or pair) that each sentence is in."""
    if pairs is None:
        return np.arange(n)
    unit, _ = pd.factorize(pd.Series(pairs))
    if len(unit) != n:
        raise LingprobError(f"pairs has {len(unit)} rows, the other arguments {n}.")
    if (unit < 0).any():
        raise LingprobError(f"pairs, row {int((unit < 0).argmax())}: the pair id is missing.")
    return unit


def _check_options(
    unit: NDArray, folds: int, repeats: int, bootstrap: int, confidence: float
) -> None:
    if folds < 2 or repeats < 1 or bootstrap < 1 or not 0 < confidence < 1:
        raise LingprobError(
            f"folds={folds}, repeats={repeats}, bootstrap={bootstrap}, confidence={confidence}: "
            "need folds >= 2, repeats >= 1, bootstrap >= 1 and 0 < confidence < 1."
        )
    found, needed = len(np.unique(unit)), folds * MINIMUM_PER_FOLD
    if found < needed:
        raise LingprobError(
            f"{found} sentences (or pairs) are too few for {folds} folds: need {needed}. "
            "Give more, or lower folds."
        )


def _fit(name: str, inputs: dict[str, Array]) -> Fit:
    """Fit a linking function on all sentences with statsmodels, and whiten its terms."""
    # About a second to import: whoever only wants the agreement between participants need not pay.
    from statsmodels.regression.linear_model import OLS

    rating, names = inputs["rating"], LINKING_FUNCTIONS[name]
    terms = _terms(names, inputs)
    deviations = terms - terms.mean(axis=0)
    _check_design(name, terms, deviations)
    model = OLS(rating, np.column_stack([np.ones(len(rating)), terms])).fit()
    score = terms[:, 0] if len(names) == 1 else model.fittedvalues
    sd = deviations.std(axis=0)
    orthogonal, triangle = np.linalg.qr(deviations / sd)
    # Signs such that a single whitened term rises with the term itself.
    signs = np.sign(np.diag(triangle))
    whitened = orthogonal * signs * np.sqrt(len(rating))
    to_slopes = np.linalg.inv(triangle * signs[:, None]) * np.sqrt(len(rating)) / sd[:, None]
    return Fit(
        name=name,
        terms=names,
        columns=np.column_stack([np.ones(len(rating)), whitened, standardise(rating)]),
        to_slopes=to_slopes,
        slopes=np.asarray(model.params[1:]),
        r=float(np.corrcoef(score, rating)[0, 1]),
        sse=float(model.ssr),
    )


def _terms(names: tuple[str, ...], inputs: dict[str, Array]) -> Array:
    p, length = inputs["logprob"], inputs["n_tokens"]
    u = inputs.get("unigram_logprob", np.full_like(p, np.nan))
    terms = {
        "p": p,
        "p/l": p / length,
        "u/l": u / length,
        "(p-u)/l": (p - u) / length,
        "1/l": 1 / length,
    }
    return np.column_stack([terms[name] for name in names])


def _check_design(name: str, terms: Array, deviations: Array) -> None:
    """Refuse a constant term, and terms that determine one another."""
    spread, names = deviations.std(axis=0), LINKING_FUNCTIONS[name]
    constant = spread <= 1e-12 * np.abs(terms).max(axis=0)
    if constant.any():
        fault = f"its term {names[int(constant.argmax())]} is the same in every row"
    elif np.linalg.matrix_rank(deviations / spread, tol=1e-8) < len(names):
        fault = f"its terms {', '.join(names)} determine one another in these rows"
    else:
        return
    raise LingprobError(
        f"{name}: {fault} (p logprob, u unigram_logprob, l n_tokens). Give sentences of more "
        "varied length and frequency, or leave this function out of linking_functions."
    )


def _moments(fits: list[Fit], weights: NDArray) -> dict[str, Array]:
    """Return the weighted sums of products of columns, by function.

    `weights` has shape (..., n); a function with m columns gets (..., m, m) float64.
    """
    shape, flat = weights.shape[:-1], weights.reshape(-1, weights.shape[-1])
    pairs = {fit.name: np.triu_indices(fit.columns.shape[1]) for fit in fits}
    products = {fit.name: fit.columns[:, i] * fit.columns[:, j]
                for fit in fits for i, j in [pairs[fit.name]]}  # fmt: skip
    side_by_side = np.column_stack(list(products.values()))
    sums = flat.astype(np.float64) @ side_by_side
    moments, start = {}, 0
    for fit in fits:
        i, j = pairs[fit.name]
        size = fit.columns.shape[1]
        matrices = np.empty((len(flat), size, size))
        matrices[:, i, j] = matrices[:, j, i] = sums[:, start : start + len(i)]
        moments[fit.name] = matrices.reshape(*shape, size, size)
        start += len(i)
    return moments


def _covariance(moments: Array) -> Array:
    """Return the weighted covariance (..., m - 1, m - 1) of the columns after the ones."""
    total = moments[..., :1, :1]
    means = moments[..., :1, 1:] / total
    return moments[..., 1:, 1:] / total - means * np.swapaxes(means, -1, -2)


def _slopes(moments: Array) -> Array:
    """Return OLS slopes (..., k) of whitened terms; NaN where the moments determine none."""
    covariance = _covariance(moments)
    of_terms, with_rating = covariance[..., :-1, :-1], covariance[..., :-1, -1:]
    singular = np.linalg.det(of_terms) < SINGULAR
    of_terms[singular] = np.eye(of_terms.shape[-1])
    return np.where(singular[..., None], np.nan, np.linalg.solve(of_terms, with_rating)[..., 0])


def _correlation(moments: Array, slopes: Array) -> Array:
    """Return Pearson's r (...) of predictions by `slopes` (..., k) with the rating.

    NaN where the predictions or the ratings do not vary.
    """
    covariance = _covariance(moments)
    of_rating = covariance[..., -1, -1]
    of_predictions = np.einsum("...i,...ij,...j", slopes, covariance[..., :-1, :-1], slopes)
    shared = np.einsum("...i,...i", slopes, covariance[..., :-1, -1])
    varies = (of_predictions > SINGULAR * (slopes**2).sum(axis=-1)) & (of_rating > SINGULAR)
    r = np.full(varies.shape, np.nan)
    r[varies] = shared[varies] / np.sqrt(of_predictions[varies] * of_rating[varies])
    return r


def _scores_or_fits(fit: Fit, moments: Array) -> Array:
    """Return slopes (..., k): learned from `moments`, or 1 for a single term, its own score."""
    return np.ones((*moments.shape[:-2], 1)) if len(fit.terms) == 1 else _slopes(moments)


def _cross_validation(fit: Fit, in_folds: Array, confidence: float) -> dict[str, float]:
    """Return r_cv and its interval from moments (repeats, folds, m, m) of the test folds."""
    in_training = in_folds.sum(axis=1, keepdims=True) - in_folds
    r = _correlation(in_folds, _scores_or_fits(fit, in_training))
    if np.isnan(r).any():
        repeat, fold = np.argwhere(np.isnan(r))[0]
        raise LingprobError(
            f"{fit.name}: in shuffle {repeat}, fold {fold}, ratings or predictions do not vary, "
            f"or the training sentences determine no fit ({int(np.isnan(r).sum())} such folds). "
            "Lower folds, or give more varied sentences."
        )
    means = r.mean(axis=1)
    low, high = interval(means, tails(confidence))
    return {"r_cv": float(means.mean()), "r_cv_low": low, "r_cv_high": high}


def _full_fit(fit: Fit, resampled: Array, confidence: float) -> dict[str, float]:
    """Return the columns of the fit on all data, intervals from moments (draws, m, m)."""
    n, predictors = len(fit.columns), len(fit.terms) + 1
    r = _correlation(resampled, _scores_or_fits(fit, resampled))
    columns = {"r": fit.r} | _interval(fit.name, "r", r, confidence)
    slopes = _slopes(resampled) @ fit.to_slopes.T
    for parameter in PARAMETERS:
        estimate, refits = _parameter(fit, slopes, parameter)
        columns |= {parameter: estimate} | _interval(fit.name, parameter, refits, confidence)
    aic, bic = information_criteria(fit.sse, n, predictors)
    return columns | {"sse": fit.sse, "aic": aic, "bic": bic, "predictors": predictors, "n": n}


def _difference(
    column: str,
    rows: dict[str, dict[str, Any]],
    drawn: dict[str, Array],
    names: tuple[str, str],
    confidence: float,
) -> dict[str, float]:
    """Return r_cv of the first function less that of the second, and its basic interval."""
    first, second = names
    if first == second or not {first, second} <= set(rows):
        return dict.fromkeys((column, f"{column}_low", f"{column}_high"), np.nan)
    value = rows[first]["r_cv"] - rows[second]["r_cv"]
    in_sample = rows[first]["r"] - rows[second]["r"]
    low, high = interval(drawn[first] - drawn[second], tails(confidence))
    ends = {
        f"{column}_low": value - (high - in_sample),
        f"{column}_high": value - (low - in_sample),
    }
    return {column: value, **ends}


def _parameter(fit: Fit, slopes: Array, parameter: str) -> tuple[float, Array]:
    """Return beta or gamma of the fit on all data, and of refits with `slopes` (draws, k).

    A value that is set, not learned, has no refits; without unigrams it is NaN.
    """
    term, sign, set_to = PARAMETERS[parameter]
    if term not in fit.terms:
        return (set_to if _needs_unigrams(fit.name) else np.nan), np.array([])
    at = fit.terms.index(term)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(sign * fit.slopes[at] / fit.slopes[0]), sign * slopes[:, at] / slopes[:, 0]


def _interval(name: str, column: str, values: Array, confidence: float) -> dict[str, float]:
    """Return the percentile interval of the finite values, NaN if there is none."""
    wild = int((~np.isfinite(values)).sum())
    if wild:
        logger.warning(
            "%s: %d of %d bootstrap refits gave no finite %s and are left out of its interval",
            name, wild, len(values), column,
        )  # fmt: skip
    low, high = interval(values, tails(confidence))
    return {f"{column}_low": low, f"{column}_high": high}
