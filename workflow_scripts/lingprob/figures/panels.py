"""Panels, ticks of logarithmic axes, and points and lines of models."""

from collections.abc import Iterable, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from lingprob.figures import style
from lingprob.figures.palette import Models, by_size

BITS_LABEL = "Bits per byte of {}"
SIZE_LABEL = "Parameters"
MARGIN = 0.12  # empty share of an axis at either end of the points


def grid(
    rows: int,
    columns: int,
    *,
    width: float,
    height: float,
    margins: tuple[float, float] = (1.0, 0.8),
    narrowest: float = style.COLUMN_INCHES,
    **subplots: Any,
) -> tuple[Figure, np.ndarray]:
    """Return a figure and its panels, an array of axes (rows, columns). Lengths are in inches.

    A panel has this width and height. Margins are room for labels at the side, and for legends and
    titles above. The figure is at most as wide as a page, and at least `narrowest`. `subplots` are
    arguments of `plt.subplots`.
    """
    wide = min(style.PAGE_INCHES, max(narrowest, margins[0] + width * columns))
    return plt.subplots(
        rows, columns, squeeze=False, figsize=(wide, margins[1] + height * rows), **subplots
    )


def blank(why: str) -> Figure:
    """Return a figure without panels that shows the text `why`, the reason."""
    figure, ((ax,),) = grid(1, 1, width=style.COLUMN_INCHES, height=0.6, margins=(0.0, 0.0))
    ax.set_axis_off()
    ax.text(0.5, 0.5, why, ha="center", va="center")
    return figure


def wrapped(
    count: int, *, columns: int = 4, width: float = 1.75, **options: Any
) -> tuple[Figure, list[Axes]]:
    """Return a figure and its `count` panels, in rows of at most `columns`.

    `options` are those of `grid`. A figure without panels has a text instead.
    """
    if count == 0:
        return blank("This run has nothing to show here."), []
    columns = min(columns, count)
    options = {"margins": (0.0, 0.7), **options}
    figure, axes = grid(-(-count // columns), columns, width=width, **options)
    panels = list(axes.flat)
    for ax in panels[count:]:
        ax.remove()
    for ax in panels[max(count - columns, 0) : count]:  # `sharex` hides them
        ax.tick_params(labelbottom=True)
    return figure, panels[:count]


def name_axes(axes: Sequence[Axes], x_label: str, y_label: str, columns: int = 4) -> None:
    """Label the x axis of each lowest panel of `wrapped`, and the y axis of each leftmost one."""
    columns = min(columns, len(axes))
    for place, ax in enumerate(axes):
        if place + columns >= len(axes):
            ax.set_xlabel(x_label, fontsize=7)
        if place % columns == 0:
            ax.set_ylabel(y_label, fontsize=7)


def label_logarithmic(axis: Axis, ticks: Iterable[float] | None = None, most: int = 99) -> None:
    """Give a logarithmic axis ticks with plain numbers: `ticks`, or some that suit its range.

    If there are more ticks than `most`, only every second or third is kept.
    """
    places = plain_ticks(*axis.get_view_interval()) if ticks is None else list(ticks)
    places = places[:: -(-len(places) // most) or 1]
    axis.set_major_locator(FixedLocator(places))
    axis.set_major_formatter(FuncFormatter(lambda value, _: style.plain_number(value)))
    axis.set_minor_locator(NullLocator())


def in_percent(symbol: str = "") -> FuncFormatter:
    """Return a formatter that shows shares in percent without rounding (0.025 as 2.5)."""
    # A computed tick at zero may be slightly negative, which adding 0 turns into 0.
    return FuncFormatter(
        lambda share, _: f"{round(100 * share, 6) + 0:g}{symbol}".replace("-", "\N{MINUS SIGN}")
    )


def plain_ticks(low: float, high: float) -> list[float]:
    """Return round numbers from `low` to `high` (positive): powers of ten in a range of 100."""
    locators = [LogLocator(subs=(1,) if high / low >= 100 else (1, 2, 5)), MaxNLocator(5)]
    found = [[x for x in one.tick_values(low, high) if low <= x <= high] for one in locators]
    # A range below 10 may contain few of 1, 2, 5 and 10.
    return found[int(high / low < 10 and len(found[0]) < 3)]


def whiskers(value: Any, low: Any, high: Any) -> np.ndarray:
    """Return the lengths of error bars below and above values, (2, n_points), at least 0."""
    return np.maximum(np.atleast_2d([value - low, high - value]).reshape(2, -1), 0.0)


def draw_differences(ax: Axes, names: Sequence[str], told: pd.DataFrame, column: str) -> AxesImage:
    """Draw differences, row minus column: `model` minus `other` in a column of the table `told`.

    White is 0, and unknown cells are grey.
    """
    matrix = pd.DataFrame(np.nan, names, names)
    for model, other, value in zip(told["model"], told["other"], told[column], strict=True):
        matrix.loc[model, other], matrix.loc[other, model] = value, -value
    values = matrix.to_numpy()
    reach = np.nanmax(np.abs(values)) if np.isfinite(values).any() else 1.0
    colours = plt.get_cmap("RdBu_r").with_extremes(bad="#C8C8C8")
    image = ax.imshow(values, cmap=colours, vmin=-reach, vmax=reach, aspect="auto")
    ax.grid(visible=False)
    return image


def bits_a_byte(logprobs: pd.Series, texts: pd.Series) -> float:
    """Return bits per byte of the UTF-8 text of sentences, or NaN if a log-probability is missing.

    Log-probabilities (nats), with the first token's, and texts are by item id.
    """
    summed = logprobs.reindex(texts.index).sum(skipna=False)
    return float(-summed / np.log(2) / texts.str.encode("utf-8").str.len().sum())


def complete(table: pd.DataFrame, models: Models) -> pd.DataFrame:
    """Return the rows of the last model in each series (`palette.series_of`)."""
    return table[[models[name]["series"] == name for name in table["model"]]]


def draw_models(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    y: str,
    models: Models,
    *,
    joined: str = "group",
    hollow: bool = False,
) -> None:
    """Draw the column `y` against `x`: a point per model with its interval, a line per group.

    The table has one row per model: `model`, `x`, `y` and, if there are intervals, y_low and
    y_high. A line joins the models of a `group` in the table's order, or of a `series` by size.
    Published values are hollow, on dotted lines.
    """
    table = table.dropna(subset=[x, y]).set_index("model", drop=False)
    if joined == "series":
        table = table.loc[by_size(table.index, models)]
    for _, line in table.groupby([models[name][joined] for name in table.index], sort=False):
        if len(line) > 1:
            colour, dots = models[line.index[-1]]["group_colour"], ":" if hollow else "-"
            ax.plot(line[x], line[y], color=colour, linestyle=dots, linewidth=0.8, zorder=1)
    for row in table.to_dict("records"):
        look = models[row["model"]]
        ends = [row.get(f"{y}_{end}", np.nan) for end in ("low", "high")]
        ax.errorbar(
            row[x], row[y], yerr=whiskers(row[y], *ends) if np.isfinite(ends).all() else None,
            color=look["colour"], marker=look["marker"], elinewidth=0.6,
            markerfacecolor="white" if hollow else look["colour"],
        )  # fmt: skip


def frame(ax: Axes, table: pd.DataFrame, y: str) -> None:
    """Limit the y axis to the points of a table (at least three), which cuts long intervals."""
    values = table[y].dropna()
    if len(values) > 2:
        reach = max(float(np.ptp(values)), 0.1 * float(values.abs().max()), 1e-6)
        ends = [table.get(f"{y}_{end}", table[y]).fillna(table[y]) for end in ("low", "high")]
        low = np.maximum(ends[0].min(), values.min() - reach / 2)
        high = np.minimum(ends[1].max(), values.max() + reach / 2)
        ax.set_ylim(low - MARGIN * reach, high + MARGIN * reach)
