"""Thousands of fits of the same few terms on reweighted sentences.

A least-squares fit depends on the sentences only through weighted sums of products of columns, and
all these sums are one product of matrices: weights (fits x sentences) times products of columns
(sentences x pairs of columns).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from lingprob.stats.designs import Array, Fit

# The covariance of whitened terms has determinant 1 over all sentences; a resample in which it
# is this small holds (nearly) collinear terms and determines no fit.
SINGULAR = 1e-10


def weighted_moments(columns: Mapping[str, Array], weights: NDArray) -> dict[str, Array]:
    """Return the weighted sums of products of columns, by function.

    `columns` holds an array (n, m) a function, `weights` has shape (..., n); a function with m
    columns gets (..., m, m) float64.
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
    """Return the weighted covariance (..., m - 1, m - 1) of the columns after the ones."""
    total = moments[..., :1, :1]
    means = moments[..., :1, 1:] / total
    return moments[..., 1:, 1:] / total - means * np.swapaxes(means, -1, -2)


def fitted_slopes(moments: Array) -> Array:
    """Return OLS slopes (..., k) of whitened terms; NaN where the moments determine none."""
    of_all = covariances(moments)
    of_terms, with_rating = of_all[..., :-1, :-1], of_all[..., :-1, -1:]
    singular = np.linalg.det(of_terms) < SINGULAR
    of_terms[singular] = np.eye(of_terms.shape[-1])
    return np.where(singular[..., None], np.nan, np.linalg.solve(of_terms, with_rating)[..., 0])


def scoring_slopes(fit: Fit, moments: Array) -> Array:
    """Return slopes (..., k): learned from `moments`, or 1 for a single term, its own score."""
    if len(fit.terms) == 1:
        return np.ones((*moments.shape[:-2], 1))
    return fitted_slopes(moments)


def correlations(moments: Array, slopes: Array) -> Array:
    """Return Pearson's r (...) of predictions by `slopes` (..., k) with the rating.

    NaN where the predictions or the ratings do not vary.
    """
    shared, of_predictions, of_rating = score_covariances(covariances(moments), slopes)
    varies = (of_predictions > SINGULAR * (slopes**2).sum(axis=-1)) & (of_rating > SINGULAR)
    r = np.full(varies.shape, np.nan)
    r[varies] = shared[varies] / np.sqrt(of_predictions[varies] * of_rating[varies])
    return r


def score_covariances(covariance: Array, slopes: Array) -> tuple[Array, Array, Array]:
    """Return the covariance of predictions by `slopes` (..., k) with the rating, their variance
    and the rating's, (...) each."""
    of_predictions = np.einsum("...i,...ij,...j", slopes, covariance[..., :-1, :-1], slopes)
    shared = np.einsum("...i,...i", slopes, covariance[..., :-1, -1])
    return shared, of_predictions, covariance[..., -1, -1]
