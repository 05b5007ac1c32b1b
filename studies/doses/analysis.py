"""Slopes of ΔLogLik over the number of copies of the passages in training."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from lingprob.papers.leakage.regressions import with_units


def dosed_models(sizes: Sequence[str], copies: Sequence[int]) -> pd.DataFrame:
    """Return one row per model: its name, its size and its copies of the passages."""
    rows = [(f"{size}-{number}", size, number) for size in sizes for number in copies]
    return pd.DataFrame(rows, columns=["model", "size", "copies"])


def dose_slopes(gains: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Return each size's slope of ΔLogLik and of log perplexity (per word) on log2(1 + copies).

    Two things are uncertain: the choice of items (`items_error`), and the result of each training
    (`trainings_error`), which follows from the models' distances from the lines of all sizes. The
    95% interval of both together is Student's t's, with the degrees of freedom of Welch and
    Satterthwaite. It is missing if a line has two models, or if there is one item.

    Args:
        gains: a `reading_gains` table of the models on one data set.
        models: from `dosed_models`.
    """
    rows = []
    for of, part in gains.groupby("of", sort=False):
        nats, counts = (
            with_units(part)
            .pivot_table(index="unit", columns="model", values=name, aggfunc="sum")[models["model"]]
            .to_numpy(float)
            for name in ("nats", "n")
        )
        # ΔLogLik is a sum over items. Log perplexity is a ratio of sums, with shares of the items.
        shares = np.full(len(nats), 1 / len(nats))
        if of == "log_perplexity":
            words = counts.mean(axis=1)  # the same for all models
            nats, shares = nats / words.sum(), words / words.sum()
        sizes = models["size"].unique()
        x = np.log2(1 + models["copies"].to_numpy(float)[: len(models) // len(sizes)])
        on_copies = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
        noise, degrees = _scatter(nats.sum(axis=0).reshape(len(sizes), -1), x)
        for size, weights in zip(sizes, np.kron(np.eye(len(sizes)), on_copies), strict=True):
            found = _contrast(nats, shares, weights, noise, degrees)
            rows.append({"of": of, "size": size, **found})
    return pd.DataFrame(rows)


def _scatter(values: np.ndarray, x: np.ndarray) -> tuple[float, int]:
    """Return the variance about a line for each row of values, pooled, and its degrees of freedom.

    NaN if a line has two points.
    """
    degrees = len(values) * (len(x) - 2)
    if degrees < 1:
        return math.nan, 0
    design = np.column_stack([np.ones_like(x), x])
    residuals = values.T - design @ np.linalg.lstsq(design, values.T, rcond=None)[0]
    return float((residuals**2).sum() / degrees), degrees


def _contrast(
    nats: np.ndarray, shares: np.ndarray, weights: np.ndarray, noise: float, degrees: int
) -> dict[str, Any]:
    """Return a weighted sum of the models' values with its two errors and its interval.

    Args:
        nats: an item's share in a model's value, (n_items, n_models).
        shares: of the items in a value, (n_items,).
        weights: of the models, (n_models,).
        noise, degrees: variance of a model's value by its training, and its degrees of freedom.
    """
    by_item = nats @ weights
    value, n = float(by_item.sum()), len(by_item)
    of_items = n / (n - 1) * float(((by_item - value * shares) ** 2).sum()) if n > 1 else math.nan
    of_trainings = noise * float(weights @ weights)
    both = of_items + of_trainings
    reach = math.nan
    if math.isfinite(both):
        parts = of_items**2 / (n - 1) + of_trainings**2 / degrees
        reach = float(stats.t.ppf(0.975, both**2 / parts)) * math.sqrt(both)
    return {
        "slope": value,
        "slope_low": value - reach,
        "slope_high": value + reach,
        "items_error": math.sqrt(of_items),
        "trainings_error": math.sqrt(of_trainings),
        "items": n,
    }
