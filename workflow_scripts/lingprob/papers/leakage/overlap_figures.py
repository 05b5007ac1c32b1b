"""Figures 1a and 1b of the paper on leakage (Oh, Zhu & Schuler 2025)."""

from collections.abc import Callable, Mapping, Sequence
from textwrap import fill

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import palette, style
from lingprob.figures.labels import handle, label_provenance, legend_above, wrapped_title
from lingprob.figures.panels import label_logarithmic, name_axes, wrapped
from lingprob.figures.style import draw_each
from lingprob.papers.leakage.overlaps import one_per_passage
from lingprob.papers.run import Run, Tables

# Colour and label of an overlap by its chance level. The first that applies is used.
LEVELS = {
    "below_threshold_compat": (palette.RED, "improbable by chance, as published"),
    "below_threshold_corrected": (palette.PURPLE, "improbable only with both sides in nats"),
    "": (palette.BLACK, "probable by chance"),
    "unknown": (palette.BLUE, "chance level not computed"),
}
LABELS = {
    "article_len": "Passage (tokens)",
    "overlap_len": "Overlap (tokens)",
    "overlap_freq": "Frequency",
}
NONE = 0.4  # place of 0 on a logarithmic axis
MARGIN = 1.25  # margin of an axis: factor beyond the values of a panel


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw Figures 1a and 1b of the table `overlap`: a panel per searched corpus and text."""
    passages = one_per_passage(tables["overlap"])
    figures = draw_each({
        "figure_1a": lambda: overlap_by_length(passages, run.titles),
        "figure_1b": lambda: frequency_by_overlap(passages, run.titles),
    })  # fmt: skip
    for figure in figures.values():
        label_provenance(figure, passages["scale"])
    return figures


def overlap_by_length(passages: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw Figure 1a: length of each passage's longest overlap by the passage's length, in tokens.

    The y axis reaches up to the whole passage.

    Args:
        passages: an `overlap` table with one row per passage and searched corpus.
        titles: titles of the searched corpora and the texts, by name.
    """

    def ends(part: pd.DataFrame) -> tuple[float, float]:
        return max(NONE, min(part["overlap_len"].min(), 4)), part["article_len"].max()

    whole = handle("the whole passage", palette.ORANGE)
    figure = _panels(passages, titles, ("article_len", "overlap_len"), ends, [whole])
    for ax in figure.axes:
        ax.axline((1, 1), (10, 10), color=palette.ORANGE, linewidth=1.0, zorder=1)
    return figure


def frequency_by_overlap(passages: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw Figure 1b: frequency of each passage's longest overlap, by the overlap's length.

    Arguments are those of `overlap_by_length`. Passages without any overlap are left out.
    """
    shown = passages[passages["overlap_freq"] > 0]
    ends = (1.0, shown["overlap_freq"].max())
    return _panels(shown, titles, ("overlap_len", "overlap_freq"), lambda _: ends)


def chance_levels(passages: pd.DataFrame) -> np.ndarray:
    """Return the key of each row in `LEVELS`, text (n_rows,)."""
    compat = passages["below_threshold_compat"]
    corrected = passages["below_threshold_corrected"]
    return np.select(
        [compat.isna(), compat.eq(True), corrected.eq(True)],
        ["unknown", "below_threshold_compat", "below_threshold_corrected"],
        default="",
    )


def _panels(
    passages: pd.DataFrame,
    titles: Mapping[str, str],
    columns: tuple[str, str],
    ends: Callable[[pd.DataFrame], tuple[float, float]],
    more: Sequence[Line2D] = (),
) -> Figure:
    """Draw the second of two columns against the first, on logarithmic axes.

    `ends` returns the least and greatest y of a panel's rows. `more` are entries of the legend.
    """
    x, y = columns
    groups = passages.groupby(["searched", "corpus"], sort=False)
    across = max(1, min(passages["corpus"].nunique(), 4))  # so that the titles fit
    figure, axes = wrapped(
        len(groups), columns=across, width=style.PAGE_INCHES / 5, height=1.5, margins=(0.4, 0.8)
    )
    for ax, ((searched, text), part) in zip(axes, groups, strict=True):
        levels, values = chance_levels(part), part[y].replace(0, NONE)
        for level, (colour, _) in reversed(LEVELS.items()):
            at = levels == level
            ax.plot(part.loc[at, x], values[at], "+", color=colour, ms=4, markeredgewidth=0.8)
        low, high = ends(part)
        ax.set(xscale="log", yscale="log", ylim=(low / MARGIN, high * MARGIN))
        ax.set_xlim(part[x].min() / MARGIN, part[x].max() * MARGIN)
        place = fill(f"in {wrapped_title(searched, titles)}", 20)
        ax.set_title(f"{wrapped_title(text, titles, 20)}\n{place}", fontsize=6)
        ax.tick_params(labelsize=6)
        label_logarithmic(ax.xaxis, most=2)
        label_logarithmic(ax.yaxis, most=5)
        if low == NONE:
            ax.set_yticks([NONE, 1, 10, 100], ["0", "1", "10", "100"])
    name_axes(axes, LABELS[x], LABELS[y], across)
    present = set(chance_levels(passages))
    shown = [look for level, look in LEVELS.items() if level in present]
    handles = [handle(label, colour, "+", "none") for colour, label in shown]
    legend_above(figure, [*handles, *more], columns=3)
    return figure
