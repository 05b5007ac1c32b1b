"""Figures 1a and 1b of the paper on leakage (Oh, Zhu & Schuler 2025)."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import palette, style
from lingprob.figures.labels import handle, label_provenance, legend_above, wrapped_title
from lingprob.figures.panels import grid, label_logarithmic, plain_ticks
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
NONE = 0.4  # place of 0 on a logarithmic axis
MARGIN = 1.25  # margin of an axis: factor beyond the values of a panel
TICKS_APART = 0.3  # of the axis


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw Figures 1a and 1b of the table `overlap`, one row of panels per searched corpus."""
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
    """Draw Figure 1a: length of each passage's longest overlap by the passage's length, in tokens.

    Panels of a text share their axes, so that short passages such as Provo's fill their panels. The
    y-axis reaches up to the whole passage.

    Args:
        passages: an `overlap` table with one row per passage and searched corpus.
        titles: titles of the searched corpora and the texts, by name.
    """
    labels = ("Passage length\n(tokens)", "Longest overlap (tokens)")
    figure, panels = _panels(passages, titles, labels, sharey="col")
    for (_, text), ax in panels.items():
        of_text = passages[passages["corpus"] == text]
        lengths, overlaps = of_text["article_len"], of_text["overlap_len"].replace(0, NONE)
        ax.set_xlim(lengths.min() / MARGIN, lengths.max() * MARGIN)
        ax.set_ylim(min(overlaps.min(), 4) / MARGIN, lengths.max() * MARGIN)
        ax.axline((1, 1), (10, 10), color=palette.ORANGE, linewidth=1.0, zorder=1)
    _draw(panels, passages, "article_len", "overlap_len")
    _legend(figure, passages, [handle("the whole passage", palette.ORANGE)])
    return figure


def frequency_by_overlap(passages: pd.DataFrame, titles: Mapping[str, str]) -> Figure:
    """Draw Figure 1b: frequency of each passage's longest overlap, by the overlap's length.

    Arguments are those of `overlap_by_length`. Passages without any overlap are left out.
    """
    passages = passages[passages["overlap_freq"] > 0]
    labels = ("Longest overlap\n(tokens)", "Frequency in the corpus")
    figure, panels = _panels(passages, titles, labels, sharey=True)
    for (_, text), ax in panels.items():
        overlaps = passages.loc[passages["corpus"] == text, "overlap_len"]
        ax.set_xlim(overlaps.min() / MARGIN, overlaps.max() * MARGIN)
        ax.set_ylim(1 / MARGIN, passages["overlap_freq"].max() * MARGIN)
    _draw(panels, passages, "overlap_len", "overlap_freq")
    _legend(figure, passages, [])
    return figure


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
    passages: pd.DataFrame, titles: Mapping[str, str], labels: tuple[str, str], sharey: str | bool
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """Return a figure with logarithmic panels of each searched corpus (rows) and text (columns).

    A corpus that was not searched for a text has no panel.
    """
    searched, texts = list(passages["searched"].unique()), list(passages["corpus"].unique())
    figure, axes = grid(
        len(searched), max(1, len(texts)), width=style.PAGE_INCHES / 5, height=1.3,
        margins=(0.4, 0.8), sharex="col", sharey=sharey,
    )  # fmt: skip
    shown = set(passages[["searched", "corpus"]].itertuples(index=False, name=None))
    panels = {}
    for line, corpus in zip(axes, searched, strict=True):
        for ax, text in zip(line, texts, strict=True):
            if (corpus, text) in shown:
                panels[corpus, text] = ax
            else:
                ax.remove()
        first = next(panels[corpus, text] for text in texts if (corpus, text) in shown)
        first.set_ylabel(wrapped_title(corpus, titles, 22), fontsize=7, fontweight="bold")
    for text in texts:
        column = [panels[corpus, text] for corpus in searched if (corpus, text) in shown]
        column[0].set_title(wrapped_title(text, titles, 22), fontsize=7)
        column[-1].set_xlabel(labels[0], fontsize=7)
        column[-1].tick_params(labelbottom=True)
    for ax in panels.values():
        ax.set(xscale="log", yscale="log")
        ax.tick_params(labelsize=6)
    figure.supylabel(labels[1], fontsize=8)
    return figure, panels


def _draw(panels: Mapping[tuple[str, str], Axes], passages: pd.DataFrame, x: str, y: str) -> None:
    for (corpus, text), ax in panels.items():
        part = passages[(passages["searched"] == corpus) & (passages["corpus"] == text)]
        levels, values = chance_levels(part), part[y].replace(0, NONE)
        for level, (colour, _) in reversed(LEVELS.items()):
            at = levels == level
            ax.plot(part.loc[at, x], values[at], "+", color=colour, ms=4, markeredgewidth=0.8)
        label_logarithmic(ax.xaxis, _apart(*ax.get_xlim()))
        low, high = ax.get_ylim()
        label_logarithmic(ax.yaxis, most=5)
        if low < NONE:
            ax.set_yticks([NONE, 1, 10, 100, 1000], ["0", "1", "10", "100", "1,000"])
        ax.set_ylim(low, high)


def _apart(low: float, high: float) -> list[float]:
    """Return ticks of a logarithmic axis that are far enough apart for their labels."""
    kept: list[float] = []
    for tick in plain_ticks(low, high):
        if not kept or np.log(tick / kept[-1]) > TICKS_APART * np.log(high / low):
            kept.append(tick)
    return kept


def _legend(figure: Figure, passages: pd.DataFrame, more: list[Line2D]) -> None:
    present = set(chance_levels(passages))
    handles = [
        handle(label, colour, "+", "none")
        for level, (colour, label) in LEVELS.items()
        if level in present
    ]
    legend_above(figure, handles + more, columns=3)
