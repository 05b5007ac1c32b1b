"""Quantities against each other for models of a ladder, whose series are joined by lines."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lingprob.figures.palette import Models, by_size
from lingprob.figures.panels import whiskers
from lingprob.papers.ladder import Facts, facts_of

BITS_LABEL = "Bits a byte of {}"
SIZE_LABEL = "Parameters"


def draw_against(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    y: str,
    models: Models,
    facts: Facts,
    *,
    hollow: bool = False,
) -> None:
    """Draw a quantity with its interval against another, a point a model, a line a series.

    Args:
        table: a row a model: `model`, `x`, `y` and, where there are intervals, y_low and y_high.
        hollow: markers without a filling: published values.
    """
    table = table.dropna(subset=[x, y]).set_index("model")
    ordered = table.loc[by_size(table.index, models)]
    series = [facts_of(facts, name)["series"] for name in ordered.index]
    for _, line in ordered.groupby(series, sort=False):
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
    """Limit an axis to the points of a table: intervals that reach farther are cut off, but where
    there are two points or one, which show nothing without."""
    values = table[y].dropna()
    if len(values) > 2:
        reach = max(float(np.ptp(values)), 0.1 * float(values.abs().max()), 1e-6)
        ends = [table.get(f"{y}_{end}", table[y]).fillna(table[y]) for end in ("low", "high")]
        low = np.maximum(ends[0].min(), values.min() - reach / 2)
        high = np.minimum(ends[1].max(), values.max() + reach / 2)
        ax.set_ylim(low - margin * reach, high + margin * reach)
