"""Predictions 1b and 2b without what falls or rises with minimalness beside it.

A correlation within a bin falls with the spread of its pairs: the same line and the same scatter
about it give a lower r where the messages vary less. Slope and scatter say whether pairs that are
less minimal are less alike; r at a common spread puts them into one number.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lingprob.minimalness.distances import equal_bins
from lingprob.papers.string_probability.data import (
    Dataset,
    Options,
    pairs_of,
    table_of,
    units,
    variables,
)
from lingprob.regression.resampling import interval, resamples

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
LENGTHS = ("n_tokens_good", "n_tokens_bad")
QUANTITIES = ("spread", "slope", "residual_sd", "r", "r_common_spread", "r_without_length")
# Of which the change from the first to the last bin is told.
TRENDS = ("r", "r_common_spread", "r_without_length", "slope", "residual_sd", "spread")
FEWEST = 5
SINGULAR = 1e-9


def confounds(
    model: str, datasets: Sequence[Dataset], scores: pd.DataFrame, options: Options
) -> pd.DataFrame:
    """Return the `string_confounds` table: each quantity in each bin, and its change over bins.

    Args:
        model: whose `scores` (`string_scores`) these are.
        datasets: for the predictions that each is for.
        scores: of all of them.
        options: bins, bootstrap draws and what is resampled.
    """
    rows: list[dict[str, Any]] = []
    for dataset in datasets:
        for prediction in sorted(dataset.predictions & {1, 2}):
            pairs = variables(pairs_of(scores[scores["dataset"] == dataset.name]), prediction)
            if len(pairs) >= FEWEST * options.bins:
                simulated = prediction == 2 and pairs["rating_source"].eq("simulated").any()
                about = {"dataset": dataset.name, "prediction": prediction}
                about["simulated"] = bool(simulated)
                rows += [{**about, **row} for row in confounds_of(pairs, options)]
    return table_of(rows, "string_confounds", model=model, scale=options.scale)


def confounds_of(pairs: pd.DataFrame, options: Options) -> list[dict[str, Any]]:
    """Return rows of one prediction on one data set, from columns x, y, lengths and distances."""
    columns = pairs[["x", "y", *LENGTHS]].to_numpy(dtype=float)
    columns = columns - columns.mean(axis=0)
    number = equal_bins(pairs["cosine_distance"], options.bins).to_numpy()
    common = columns[:, 0].std()
    found = bin_quantities(columns, number, np.ones(len(columns)), common)
    unit = units(pairs, options.cluster_by_paradigm)
    drawn = resampled_quantities(columns, number, unit, common, options)
    rows = []
    for place, quantity in enumerate(QUANTITIES):
        for at in range(options.bins):
            low, high = interval(drawn[:, at, place])
            row = {"subset": "bin", "name": str(at + 1), "n": int((number == at + 1).sum())}
            row |= {"value": found[at, place], "value_low": low, "value_high": high}
            rows.append({**row, "quantity": quantity})
    for quantity in TRENDS:
        place = QUANTITIES.index(quantity)
        low, high = interval(changes(drawn[:, :, place]))
        row = {"subset": "change", "name": "", "n": len(pairs), "quantity": quantity}
        value = float(changes(found[None, :, place])[0])
        rows.append({**row, "value": value, "value_low": low, "value_high": high})
    return rows


def changes(by_bin: Array) -> Array:
    """Return the fitted change from the first to the last bin, (m,), of values (m, bins).

    A least-squares line over the numbers of the bins; NaN where a bin has no value.
    """
    centred = np.arange(by_bin.shape[1]) - (by_bin.shape[1] - 1) / 2
    if len(centred) < 2:
        return np.full(len(by_bin), np.nan)
    return by_bin @ centred / (centred @ centred) * (len(centred) - 1)


def bin_quantities(columns: Array, number: Ints, weight: Array, common: float) -> Array:
    """Return the QUANTITIES of each bin, (bins, 6), of centred columns x, y and the two lengths."""
    moments = np.stack(
        [
            moment_matrices(columns[number == at]).T @ weight[number == at]
            for at in range(1, number.max() + 1)
        ]
    )
    return quantities(moments, common)


def moment_matrices(columns: Array) -> Array:
    """Return the products of every two of (1, columns) by row, (n, (k + 1)²)."""
    wide = np.column_stack([np.ones(len(columns)), columns])
    return np.einsum("ij,ik->ijk", wide, wide).reshape(len(wide), -1)


def resampled_quantities(
    columns: Array, number: Ints, unit: Ints, common: float, options: Options
) -> Array:
    """Return the QUANTITIES of each bin in each bootstrap draw, (draws, bins, 6).

    Bins and the common spread are those of the data.
    """
    by_bin = []
    for at in range(1, number.max() + 1):
        members = number == at
        present, place = np.unique(unit[members], return_inverse=True)
        sums = np.zeros((len(present), (columns.shape[1] + 1) ** 2))
        np.add.at(sums, place, moment_matrices(columns[members]))
        by_bin.append((present, sums))
    drawn = []
    for counts in resamples(int(unit.max()) + 1, options.bootstrap, options.seed):
        counted = counts.astype(np.float64)
        moments = [counted[:, present] @ sums for present, sums in by_bin]
        drawn.append(quantities(np.stack(moments, axis=1), common))
    return np.concatenate(drawn)


def quantities(moments: Array, common: float) -> Array:
    """Return the QUANTITIES, (..., 6), of summed moment matrices (..., (k + 1)²).

    The regression is of y on x: slope b and standard deviation s of the residuals. At the common
    spread S of x, r is b S / sqrt(b² S² + s²). Without length, r is that of what the lengths of the
    two sentences leave of x and y.
    """
    width = round(np.sqrt(moments.shape[-1]))
    matrix = moments.reshape(*moments.shape[:-1], width, width)
    with np.errstate(divide="ignore", invalid="ignore"):
        matrix = matrix / matrix[..., :1, :1]
        mean = matrix[..., 0, 1:]
        covariance = matrix[..., 1:, 1:] - mean[..., :, None] * mean[..., None, :]
        xx, yy, xy = (covariance[..., i, j] for i, j in ((0, 0), (1, 1), (0, 1)))
        slope = xy / xx
        residual = np.sqrt(np.maximum(yy - slope * xy, 0.0))
        at_common = slope * common / np.sqrt((slope * common) ** 2 + residual**2)
        left = without_lengths(covariance)
        partial = left[..., 0, 1] / np.sqrt(left[..., 0, 0] * left[..., 1, 1])
        r = xy / np.sqrt(xx * yy)
    return np.stack([np.sqrt(np.maximum(xx, 0.0)), slope, residual, r, at_common, partial], axis=-1)


def without_lengths(covariance: Array) -> Array:
    """Return the covariance, (..., 2, 2), of what the other columns leave of the first two."""
    filled = np.where(np.isfinite(covariance), covariance, 0.0)
    cross, lengths = filled[..., :2, 2:], filled[..., 2:, 2:]
    # Sentences of a pair mostly have one length: the two columns may be the same.
    inverse = np.linalg.pinv(lengths, rcond=SINGULAR, hermitian=True)
    explained = cross @ inverse @ np.swapaxes(cross, -1, -2)
    return covariance[..., :2, :2] - explained
