"""Quantities against how good and how large models are; lines join the models of one series.

A series is the states of one training, its end included, or the orders of n-grams over one corpus.
Models are as good as they need few bits a byte for sentences that all of them scored: the same for
all tokenizers, and no lower bound of anything else.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lingprob.figures.palette import Models, by_size
from lingprob.figures.panels import whiskers

# The series of each model; one that is not in it is for itself.
Series = Mapping[str, str]
BITS_LABEL = "Bits a byte of {}"
SIZE_LABEL = "Parameters"


def bits_a_byte(logprobs: pd.Series, texts: pd.Series) -> float:
    """Return bits a byte of sentences' UTF-8 text; NaN if some log-probabilities are missing.

    Args:
        logprobs: log-probabilities (nats) by item id, the first token counted.
        texts: by item id, those that count.
    """
    summed = logprobs.reindex(texts.index).sum(skipna=False)
    return float(-summed / np.log(2) / texts.str.encode("utf-8").str.len().sum())


def complete(table: pd.DataFrame, series: Series) -> pd.DataFrame:
    """Return the rows of models that are the last of their series or for themselves."""
    return table[[series.get(name, name) == name for name in table["model"]]]


def draw_against(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    y: str,
    models: Models,
    series: Series,
    *,
    hollow: bool = False,
) -> None:
    """Draw a quantity with its interval against another: one point per model, one line per series.

    Args:
        table: one row per model: `model`, `x`, `y` and, if there are intervals, y_low and y_high.
        models: their looks.
        series: the series of each.
        hollow: markers without a filling: published values.
    """
    table = table.dropna(subset=[x, y]).set_index("model")
    ordered = table.loc[by_size(table.index, models)]
    of_each = [series.get(name, name) for name in ordered.index]
    for _, line in ordered.groupby(of_each, sort=False):
        if len(line) > 1:
            colour = models[line.index[-1]]["group_colour"]
            ax.plot(line[x], line[y], color=colour, linewidth=0.8, alpha=0.7, zorder=1)
    for name, row in ordered.iterrows():
        look = models[name]
        ends = [row.get(f"{y}_{end}", np.nan) for end in ("low", "high")]
        ax.errorbar(
            row[x], row[y], yerr=whiskers(row[y], *ends) if np.isfinite(ends).all() else None,
            color=look["colour"], marker=look["marker"], elinewidth=0.6, markersize=4,
            markerfacecolor="white" if hollow else look["colour"],
        )  # fmt: skip


def frame(ax: Axes, table: pd.DataFrame, y: str, margin: float = 0.12) -> None:
    """Limit an axis to the points of a table.

    Intervals that reach farther are cut off, unless there are only one or two points.
    """
    values = table[y].dropna()
    if len(values) > 2:
        reach = max(float(np.ptp(values)), 0.1 * float(values.abs().max()), 1e-6)
        ends = [table.get(f"{y}_{end}", table[y]).fillna(table[y]) for end in ("low", "high")]
        low = np.maximum(ends[0].min(), values.min() - reach / 2)
        high = np.minimum(ends[1].max(), values.max() + reach / 2)
        ax.set_ylim(low - margin * reach, high + margin * reach)
