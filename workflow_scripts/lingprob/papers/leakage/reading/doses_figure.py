"""What copies of the passages in training do to ΔLogLik and to perplexity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import handle, legend_above, wrapped_title
from lingprob.figures.panels import grid, label_logarithmic, whiskers
from lingprob.papers.contract import Run

COLUMNS = 3
PANEL_INCHES = 1.7
TIMES = 1000  # reading times that differences are given for
APART = 0.12  # of sizes, whose intervals would stand on one another, on the axis of copies


def doses(effects: pd.DataFrame, slopes: pd.DataFrame, run: Run) -> Figure:
    """Draw how far ΔLogLik is from that without copies, and perplexity, by copies and size.

    Upper panels have differences for 1,000 times with their 95% intervals, and in their titles the
    slope of ΔLogLik for each doubling of copies (of all times) with its interval; lower panels have
    the perplexity of words. `effects` is a `dose_effects` table, `slopes` a `dose_slopes` table.
    """
    datasets = list(dict.fromkeys(effects["dataset"]))
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
        part = effects[effects["dataset"] == datasets[place]]
        _by_copies(upper, lower, part, run)
        of_dataset = slopes[slopes["dataset"] == datasets[place]]
        title = wrapped_title(datasets[place], run.titles, 24)
        said = "\n".join([title, *_slopes(of_dataset)])
        upper.set_title(said, fontsize=6.5, fontweight="normal")
        lower.set_xlabel("copies of each passage", fontsize=7)
        if column == 0:
            upper.set_ylabel(f"change of ΔLogLik\n({TIMES:,} times, nats)", fontsize=7)
            lower.set_ylabel("perplexity (words)", fontsize=7)
    handles = [
        handle(str(size).replace("-", " ").capitalize(), look["colour"], look["marker"])
        for size, look in _looks(effects, run).items()
    ]
    legend_above(figure, handles)
    return figure


def _looks(effects: pd.DataFrame, run: Run) -> dict[str, Mapping[str, Any]]:
    """Return the look of each size's line: that of its models with copies."""
    with_copies = effects[effects["copies"] > 0].drop_duplicates("size")
    return {row.size: run.models[row.model] for row in with_copies.itertuples(index=False)}


def _by_copies(upper: Axes, lower: Axes, part: pd.DataFrame, run: Run) -> None:
    """Draw one data set's models, a line a size, at log2(1 + copies) or close by."""
    looks = _looks(part, run)
    lines = part.sort_values("copies").groupby("size", sort=False)
    for number, (size, line) in enumerate(lines):
        look = looks[str(size)]
        drawn = {"color": look["colour"], "marker": look["marker"], "markersize": 3}
        x = np.log2(1 + line["copies"]) + APART * (number - (lines.ngroups - 1) / 2)
        change = TIMES * line[["difference", "difference_low", "difference_high"]].fillna(0)
        value, low, high = (change[name] / line["n_evaluated"] for name in change)
        upper.errorbar(x, value, whiskers(value, low, high), capsize=1.5, elinewidth=0.6, **drawn)
        lower.plot(x, line["word_perplexity"], **drawn)
    upper.axhline(0, color=palette.GREY, linewidth=0.6)
    lower.set_yscale("log")
    label_logarithmic(lower.yaxis, most=5)
    copies = sorted(part["copies"].unique())
    for axis in (upper, lower):
        axis.set_xticks(np.log2(1 + np.array(copies)), [str(count) for count in copies], fontsize=6)


def _slopes(slopes: pd.DataFrame) -> list[str]:
    """Return a line of a title for each size: the slope of ΔLogLik and its interval."""
    wanted = slopes[(slopes["of"] == "delta") & slopes["size"].notna()]
    lines = ["nats a doubling of copies"]
    for row in wanted.itertuples():
        known = math.isfinite(row.slope_low)
        interval = f" [{row.slope_low:.2g}, {row.slope_high:.2g}]" if known else ""
        lines.append(f"{row.size}: {row.slope:.2g}{interval}")
    return lines
