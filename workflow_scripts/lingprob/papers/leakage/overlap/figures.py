"""Figures 1a and 1b of the paper on leakage (Oh, Zhu & Schuler 2025)."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import style

# What chance makes of an overlap: colour and label; the first that holds is drawn.
LEVELS = {
    "below_threshold_compat": (style.RED, "improbable by chance, as published"),
    "below_threshold_corrected": (style.PURPLE, "improbable only with both sides in nats"),
    "": (style.BLACK, "as chance would have it"),
    "unknown": (style.BLUE, "ours (no n-gram model: chance not computed)"),
}


def overlap_by_length(passages: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Figure 1a: length of each passage's longest overlap by the passage's length, in tokens.

    Args:
        passages: an `overlap` table with a row a passage and searched corpus.
        titles: of the searched and the reading-time corpora, by name.
    """
    figure, axes = _panels(passages, titles)
    for (searched, corpus), ax in axes.items():
        chosen = _of_panel(passages, searched, corpus)
        if not chosen.empty:
            ax.axline((1, 1), (10, 10), color=style.ORANGE, linewidth=1.0, zorder=1)
        _draw(ax, chosen, chosen["article_len"], chosen["overlap_len"])
        ax.set(xscale="log", yscale="log")
    _finish(figure, passages, "Passage length (tokens)", "Longest overlap (tokens)")
    return figure


def frequency_by_overlap(passages: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Figure 1b: frequency of each passage's longest overlap by its length; arguments as above.

    Passages without any overlap are left out.
    """
    passages = passages[passages["overlap_freq"] > 0]
    figure, axes = _panels(passages, titles)
    for (searched, corpus), ax in axes.items():
        chosen = _of_panel(passages, searched, corpus)
        _draw(ax, chosen, chosen["overlap_len"], chosen["overlap_freq"])
        ax.set(xscale="log", yscale="log")
    _finish(figure, passages, "Longest overlap (tokens)", "Its frequency in the corpus")
    return figure


def _panels(
    passages: pd.DataFrame, titles: Mapping[str, str]
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    rows, columns = passages["searched"].unique(), passages["corpus"].unique()
    figure, grid = plt.subplots(
        len(rows),
        len(columns),
        squeeze=False,
        sharex=True,
        sharey=True,
        figsize=(
            max(style.COLUMN_INCHES, min(style.PAGE_INCHES, 1.0 + 1.1 * len(columns))),
            1.1 + 1.25 * len(rows),
        ),
    )
    axes = {}
    for y, searched in enumerate(rows):
        for x, corpus in enumerate(columns):
            axes[searched, corpus] = grid[y][x]
            if y == 0:
                grid[y][x].set_title(titles.get(corpus, corpus), fontsize=7)
        title = "\n".join(wrap(titles.get(searched, searched), 22))
        grid[y][0].set_ylabel(title, fontsize=7, fontweight="bold")
    return figure, axes


def _of_panel(passages: pd.DataFrame, searched: str, corpus: str) -> pd.DataFrame:
    return passages[(passages["searched"] == searched) & (passages["corpus"] == corpus)]


def chance_levels(passages: pd.DataFrame) -> np.ndarray:
    """Return the key of `LEVELS` that each row has, text (n_rows,)."""
    compat = passages["below_threshold_compat"]
    corrected = passages["below_threshold_corrected"]
    return np.select(
        [compat.isna(), compat.eq(True), corrected.eq(True)],
        ["unknown", "below_threshold_compat", "below_threshold_corrected"],
        default="",
    )


def _draw(ax: Axes, passages: pd.DataFrame, x: pd.Series, y: pd.Series) -> None:
    if passages.empty:
        ax.text(0.5, 0.5, "none", transform=ax.transAxes, ha="center", color=style.GREY)
    levels = chance_levels(passages)
    for level, (colour, _) in reversed(LEVELS.items()):
        shown = levels == level
        ax.plot(x[shown], y[shown], "+", color=colour, markersize=4, markeredgewidth=0.8)


def _finish(figure: Figure, passages: pd.DataFrame, x_label: str, y_label: str) -> None:
    present = set(chance_levels(passages))
    handles = [
        Line2D([], [], marker="+", linestyle="", color=colour, label=label)
        for level, (colour, label) in LEVELS.items()
        if level in present
    ]
    if y_label.startswith("Longest"):
        handles.append(Line2D([], [], color=style.ORANGE, label="the whole passage"))
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=6)
    figure.supylabel(y_label, fontsize=8)
    scale = "/".join(sorted(passages["scale"].unique()))
    figure.supxlabel(f"{x_label}          scale: {scale}", fontsize=8)
