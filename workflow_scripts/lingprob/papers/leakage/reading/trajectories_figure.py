"""ΔLogLik and perplexity by what a model had seen of its training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import palette, style
from lingprob.figures.labels import handle, legend_above, wrapped_title
from lingprob.figures.panels import grid, label_logarithmic, whiskers
from lingprob.papers.contract import Run

COLUMNS = 4
PANEL_INCHES = 1.6
MILLION = 1e6
# After so many training tokens surprisal predicts reading times best (Oh & Schuler 2023a, title).
BEST_TOKENS = 2e9
ROW = 0.05  # of a panel's height
PEAK: dict[str, Any] = {"linewidth": 2, "markersize": 4}
Looks = Mapping[str, Mapping[str, Any]]


def trajectories(steps: pd.DataFrame, peaks: pd.DataFrame, run: Run) -> Figure:
    """Draw ΔLogLik (with 95% intervals) and perplexity by tokens seen, a line a size.

    On top of a panel stands, a row a size, the step with the highest ΔLogLik, with a bar over those
    that it cannot be told from. The two billion tokens of Oh & Schuler (2023a) are marked, or said
    to be beyond the axis.

    Args:
        steps: a `trajectories` table.
        peaks: a `trajectory_peaks` table of the same.
        run: with the looks of the models.
    """
    datasets = list(dict.fromkeys(steps["dataset"]))
    bands, columns = -(-len(datasets) // COLUMNS), min(COLUMNS, len(datasets))
    figure, axes = grid(
        2 * bands, columns, width=style.PAGE_INCHES / COLUMNS, height=PANEL_INCHES,
        margins=(0.3, 0.9),
    )  # fmt: skip
    for place in range(bands * columns):
        band, column = divmod(place, columns)
        upper, lower = axes[2 * band : 2 * band + 2, column]
        if place >= len(datasets):
            upper.set_visible(False)
            lower.set_visible(False)
            continue
        part, peaked = (table[table["dataset"] == datasets[place]] for table in (steps, peaks))
        _by_tokens(upper, lower, part, _looks(steps, run))
        _mark_peaks(upper, peaked, _looks(steps, run))
        upper.set_title(wrapped_title(datasets[place], run.titles, 24), fontsize=7)
        lower.set_xlabel("tokens seen (millions)", fontsize=7)
        if column == 0:
            upper.set_ylabel("ΔLogLik (nats)", fontsize=7)
            lower.set_ylabel("perplexity (words)", fontsize=7)
    legend_above(figure, _handles(steps, _looks(steps, run)), columns=5)
    return figure


def _looks(steps: pd.DataFrame, run: Run) -> Looks:
    """Return the look of each size's line: that of its last step."""
    last = steps.drop_duplicates("size", keep="last")
    return {str(row.size): run.models[row.model] for row in last.itertuples(index=False)}


def _by_tokens(upper: Axes, lower: Axes, steps: pd.DataFrame, looks: Looks) -> None:
    """Draw one data set's sizes."""
    for size, line in steps.groupby("size", sort=False):
        look, x = looks[str(size)], line["tokens"] / MILLION
        drawn = {"color": look["colour"], "marker": look["marker"], "markersize": 3}
        errors = whiskers(line["delta"], line["delta_low"], line["delta_high"])
        upper.errorbar(x, line["delta"], errors, capsize=1.5, elinewidth=0.6, **drawn)
        lower.plot(x, line["word_perplexity"], **drawn)
    upper.axhline(0, color=palette.GREY, linewidth=0.6)
    for axis in (upper, lower):
        axis.set_xscale("log")
        if _within(steps):
            axis.axvline(BEST_TOKENS / MILLION, color=palette.GREY, linewidth=0.8, linestyle=":")
        label_logarithmic(axis.xaxis, most=4)
    lower.set_yscale("log")
    label_logarithmic(lower.yaxis, most=5)


def _mark_peaks(axis: Axes, peaks: pd.DataFrame, looks: Looks) -> None:
    """Draw each size's peak and its interval in a row of its own above what is drawn."""
    low, high = axis.get_ylim()
    axis.set_ylim(low, low + (high - low) / (1 - ROW * len(peaks)))
    for row, (_, found) in enumerate(peaks.iterrows()):
        drawn = {"color": looks[found["size"]]["colour"], "transform": axis.get_xaxis_transform()}
        height = 1 - ROW * (row + 0.5)
        ends = [found[name] / MILLION for name in ("peak_tokens_low", "peak_tokens_high")]
        axis.plot(ends, [height] * 2, **PEAK, **drawn)
        axis.plot(found["peak_tokens"] / MILLION, height, "o", **PEAK, **drawn)


def _within(steps: pd.DataFrame) -> bool:
    return bool(steps["tokens"].max() >= BEST_TOKENS)


def _handles(steps: pd.DataFrame, looks: Looks) -> list[Line2D]:
    """Return a legend's entries: sizes, peaks, and the published one."""
    published = "2 billion tokens (Oh & Schuler 2023a)"
    return [
        *(
            handle(size.replace("-", " ").capitalize(), look["colour"], look["marker"])
            for size, look in looks.items()
        ),
        handle("highest, and what cannot be told from it", palette.GREY, "o", **PEAK),
        handle(published if _within(steps) else f"{published}: beyond", palette.GREY, "", ":"),
    ]
