"""What the figures on string probability share: panels, titles, colours and legends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import style
from lingprob.figures.labels import Models

GRAMMATICAL = {True: (style.BLUE, "grammatical"), False: (style.RED, "ungrammatical")}
MODEL_COLOURS = (style.BLUE, style.RED, style.GREEN, style.ORANGE, style.PURPLE, style.SKY)
COLUMNS = 4
Titles = Mapping[str, str]


def panels(count: int, height: float, sharey: bool = False) -> tuple[Figure, list[Axes]]:
    """Return a figure with so many panels in rows of four, and the panels; height in inches."""
    columns = min(COLUMNS, max(count, 1))
    rows = -(-max(count, 1) // columns)
    figure, grid = plt.subplots(
        rows,
        columns,
        squeeze=False,
        sharey=sharey,
        figsize=(
            max(style.COLUMN_INCHES, style.PAGE_INCHES * columns / COLUMNS),
            0.7 + height * rows,
        ),
    )
    axes = list(grid.ravel())
    for ax in axes[count:]:
        ax.set_visible(False)
    return figure, axes[:count]


def name_axes(axes: Sequence[Axes], x_label: str, y_label: str) -> None:
    """Name the x axes of the lowest panels and the y axes of the leftmost."""
    columns = min(COLUMNS, len(axes))
    for place, ax in enumerate(axes):
        if place + columns >= len(axes):
            ax.set_xlabel(x_label, fontsize=7)
        if place % columns == 0:
            ax.set_ylabel(y_label, fontsize=7)


def short_title(dataset: str, titles: Titles) -> str:
    """Return a data set's title in lines of some 26 letters."""
    return fill(titles.get(dataset, dataset.capitalize()), 26)


def panel_title(row: Any, models: Models, titles: Titles, rows: pd.DataFrame) -> str:
    """Return the title of a panel: the data set and, where there are several, the model."""
    title = short_title(row.dataset, titles)
    several = rows["model"].nunique() > 1
    return f"{title}\n{models[row.model]['title']}" if several else title


def model_colours(names: Sequence[str]) -> dict[str, str]:
    """Return a colour for each model; they repeat after six."""
    return {name: MODEL_COLOURS[place % len(MODEL_COLOURS)] for place, name in enumerate(names)}


def model_handles(names: Sequence[str], models: Models) -> list[Line2D]:
    """Return legend entries for models."""
    return [
        Line2D([], [], color=colour, marker="o", label=models[name]["title"])
        for name, colour in model_colours(names).items()
    ]


def grammatical_handles() -> list[Line2D]:
    """Return legend entries for grammatical and ungrammatical strings."""
    return [
        Line2D([], [], marker="s", linestyle="", color=colour, label=label)
        for colour, label in GRAMMATICAL.values()
    ]
