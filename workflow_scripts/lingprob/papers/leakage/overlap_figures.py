"""Figures 1a and 1b of the paper on leakage (Oh, Zhu & Schuler 2025)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above, wrapped_title
from lingprob.figures.panels import grid, label_logarithmic
from lingprob.figures.style import draw_each
from lingprob.papers.leakage.overlaps import one_per_passage
from lingprob.papers.run import Run, Tables

# What chance makes of an overlap: colour and label; the first that holds is drawn.
LEVELS = {
    "below_threshold_compat": (palette.RED, "improbable by chance, as published"),
    "below_threshold_corrected": (palette.PURPLE, "improbable only with both sides in nats"),
    "": (palette.BLACK, "as chance would have it"),
    "unknown": (palette.BLUE, "ours (no n-gram model: chance not computed)"),
}


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw Figures 1a and 1b, our corpora above the paper's, of the table `overlap`."""
    passages = one_per_passage(tables["overlap"])
    figures = draw_each(
        {
            "figure_1a": lambda: overlap_by_length(passages, run.titles),
            "figure_1b": lambda: frequency_by_overlap(passages, run.titles),
        }
    )
    for figure in figures.values():
        label_provenance(figure, passages["scale"])
    return figures


def overlap_by_length(passages: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Figure 1a: length of each passage's longest overlap by the passage's length, in tokens.

    Args:
        passages: an `overlap` table with a row a passage and searched corpus.
        titles: of the searched and the reading-time corpora, by name.
    """
    labels = ("Passage length\n(tokens)", "Longest overlap (tokens)")
    return _scatter(passages, titles, "article_len", "overlap_len", labels, whole=True)


def frequency_by_overlap(passages: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Figure 1b: frequency of each passage's longest overlap by its length; arguments as above.

    Passages without any overlap are left out.
    """
    passages = passages[passages["overlap_freq"] > 0]
    labels = ("Longest overlap\n(tokens)", "Its frequency in the corpus")
    return _scatter(passages, titles, "overlap_len", "overlap_freq", labels)


def _scatter(
    passages: pd.DataFrame,
    titles: Mapping[str, str],
    x: str,
    y: str,
    labels: tuple[str, str],
    whole: bool = False,
) -> Figure:
    """Draw a row of panels a searched corpus, a column a reading-time corpus.

    `whole` adds the line on which x and y are equal.
    """
    rows, columns = passages["searched"].unique(), passages["corpus"].unique()
    figure, axes = grid(
        len(rows), len(columns), width=1.1, height=1.25, margins=(1.0, 1.1),
        sharex=True, sharey=True,
    )  # fmt: skip
    for line, searched in zip(axes, rows, strict=True):
        for ax, corpus in zip(line, columns, strict=True):
            here = (passages["searched"] == searched) & (passages["corpus"] == corpus)
            _draw(ax, passages[here], x, y)
            ax.tick_params(labelsize=6)
            if whole and here.any():
                ax.axline((1, 1), (10, 10), color=palette.ORANGE, linewidth=1.0, zorder=1)
            ax.set(xscale="log", yscale="log")
        line[0].set_ylabel(wrapped_title(searched, titles, 22), fontsize=7, fontweight="bold")
    for ax, corpus in zip(axes[0], columns, strict=True):
        ax.set_title(wrapped_title(corpus, titles, 22), fontsize=7)
    for ax in axes[-1]:
        ax.set_xlabel(labels[0], fontsize=7)
        label_logarithmic(ax.xaxis, most=4)
        label_logarithmic(ax.yaxis)
    present = set(chance_levels(passages))
    handles = [
        handle(label, colour, "+", "none")
        for level, (colour, label) in LEVELS.items()
        if level in present
    ]
    if whole:
        handles.append(handle("the whole passage", palette.ORANGE))
    legend_above(figure, handles, columns=3)
    figure.supylabel(labels[1], fontsize=8)
    return figure


def chance_levels(passages: pd.DataFrame) -> np.ndarray:
    """Return the key of `LEVELS` that each row has, text (n_rows,)."""
    compat = passages["below_threshold_compat"]
    corrected = passages["below_threshold_corrected"]
    return np.select(
        [compat.isna(), compat.eq(True), corrected.eq(True)],
        ["unknown", "below_threshold_compat", "below_threshold_corrected"],
        default="",
    )


def _draw(ax: Axes, passages: pd.DataFrame, x: str, y: str) -> None:
    if passages.empty:
        ax.text(0.5, 0.5, "none", transform=ax.transAxes, ha="center", color=palette.GREY)
    levels = chance_levels(passages)
    for level, (colour, _) in reversed(LEVELS.items()):
        shown = levels == level
        ax.plot(
            passages.loc[shown, x],
            passages.loc[shown, y],
            "+",
            color=colour,
            markersize=4,
            markeredgewidth=0.8,
        )
