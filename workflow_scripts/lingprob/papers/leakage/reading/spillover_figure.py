"""What surprisal adds to the regressions of reading times, by the number of previous words."""

from __future__ import annotations

from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import group_handles, handle, legend_above, wrapped_title
from lingprob.figures.palette import Models
from lingprob.figures.panels import name_axes, whiskers, wrapped
from lingprob.papers.contract import Run

COLUMNS = 4
PANEL_INCHES = 1.7
TITLE_LETTERS = 22
SPREAD = 0.7  # of a number's models, side by side, in numbers


def spillover(gains: pd.DataFrame, run: Run) -> Figure:
    """Draw ΔLogLik with 95% intervals by the number of previous words, a line a model.

    A panel is a data set; models stand side by side. Titles say for how many of them ΔLogLik grows
    with the last of so many words: the interval of its growth lies above 0. Hollow is ΔLogLik of
    all times together where words have intercepts. `gains` is a `spillover` table.
    """
    datasets = list(dict.fromkeys(gains["dataset"]))
    figure, panels = wrapped(
        len(datasets), columns=COLUMNS, width=style.PAGE_INCHES / COLUMNS, height=PANEL_INCHES,
        margins=(0.0, 0.9),
    )  # fmt: skip
    for axis, dataset in zip(panels, datasets, strict=True):
        part = gains[gains["dataset"] == dataset]
        _draw(axis, part, run.models)
        title = wrapped_title(dataset, run.titles, TITLE_LETTERS)
        axis.set_title(f"{title}\n{_growth(part)}", fontsize=7)
    name_axes(panels, "previous words", "ΔLogLik (nats)", COLUMNS)
    handles = group_handles(gains["model"], run.models)
    if gains["word_sd"].notna().any():
        words = handle("intercepts by word", palette.BLACK, "o", "none", markerfacecolor="white")
        handles.append(words)
    legend_above(figure, handles)
    return figure


def _draw(axis: Axes, part: pd.DataFrame, models: Models) -> None:
    by_model = list(part.groupby("model", sort=False))
    places = SPREAD * ((np.arange(len(by_model)) + 0.5) / len(by_model) - 0.5)
    for (name, line), place in zip(by_model, places, strict=True):
        look = models[str(name)]
        by_word = line["word_sd"].notna()
        axis.scatter(
            line.loc[by_word, "words"] + place + 1, line.loc[by_word, "joint_delta"],
            facecolors="none", edgecolors=look["colour"], marker=look["marker"], s=8,
            linewidths=0.6,
        )  # fmt: skip
        line = line[~by_word]
        axis.errorbar(
            line["words"] + place, line["delta"],
            whiskers(line["delta"], line["delta_low"], line["delta_high"]),
            color=look["colour"], marker=look["marker"], markersize=2, linewidth=0.5,
            elinewidth=0.5,
        )  # fmt: skip
    axis.axhline(0, color=palette.BLACK, linewidth=0.6)
    numbers = sorted(part["words"].unique())
    labels = [str(number) for number in numbers]
    if part["word_sd"].notna().any():
        numbers, labels = [*numbers, numbers[-1] + 1], [*labels, "by\nword"]
    axis.set_xticks(numbers, labels)


def _growth(part: pd.DataFrame) -> str:
    """Return for how many models ΔLogLik grows with the last of 1, 2 ... words."""
    above = (part["growth_low"] > 0).groupby(part["words"]).sum()
    counts = ", ".join(f"{words}: {count}" for words, count in above.items() if words)
    return fill(f"grows at {counts} of {part['model'].nunique()}", TITLE_LETTERS)
