"""Curves by the length of prefixes, alike in all figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.context.names import CROWS_PAIRS, FROM_SUITE, UNRELATED
from lingprob.figures import palette
from lingprob.figures.labels import handle, legend_above
from lingprob.figures.panels import in_percent
from lingprob.papers.run import Run

LENGTH = "Length of the prefix (tokens)"
DELTA = "Δ accuracy (points)"
# Curves of one figure share their y axis.
CURVES: dict[str, Any] = {
    "width": 2.4, "height": 2.0, "margins": (1.2, 0.9), "narrowest": 3.8, "sharey": True
}  # fmt: skip
# The least range of an axis of accuracies.
FLAT = 0.1
COLOURS = {
    "matched_acceptable": palette.GREEN,
    "mismatched_acceptable": palette.ORANGE,
    "matched_unacceptable": palette.PURPLE,
    "mismatched_unacceptable": palette.RED,
    "acceptable": palette.GREEN,
    "unacceptable": palette.PURPLE,
    UNRELATED: palette.SKY,
    FROM_SUITE: palette.BLUE,
}


def label(kind: str, run: Run, dataset: str = "") -> str:
    """Return what a legend calls a kind of prefixes."""
    if kind == UNRELATED:
        return str(run.titles[UNRELATED])
    if kind == FROM_SUITE:
        return "Of one other suite"
    named = kind.replace("_", ", ")
    if dataset == CROWS_PAIRS:
        named = named.replace("unacceptable", "stereotypical")
        named = named.replace("acceptable", "antistereotypical")
    return named.capitalize()


def pairs(rows: pd.DataFrame) -> str:
    """Return a title's line on how many pairs, or items, are behind a panel's curves."""
    return f"\nn = {rows['n_pairs'].max():,}" if len(rows) else ""


def overall(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return the rows over all pairs of a data set, unperturbed."""
    return accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].isna()]


def models_of(rows: pd.DataFrame) -> list[str]:
    """Return the models of a table in its order."""
    return list(dict.fromkeys(rows["model"]))


def curve(
    ax: Axes,
    rows: pd.DataFrame,
    column: str,
    colour: str,
    linestyle: str,
    interval: bool = True,
    linewidth: float | None = None,
    size: str = "prefix_tokens",
) -> None:
    """Draw one column by the mean size of prefixes, from no prefix on, with its 95% interval."""
    if rows.empty:
        return
    rows = rows.sort_values("length")
    # At the greatest length no pair is missing for its prefix's first sentence being too long.
    last = rows.iloc[-1]
    first = {"delta": 0.0, "accuracy": last["baseline"], "margin": last["baseline_margin"]}[column]
    x = [0.0, *rows[size]]
    ax.plot(x, [first, *rows[column]], color=colour, linestyle=linestyle, linewidth=linewidth)
    if interval:
        low, high = ([first, *rows[f"{column}_{side}"]] for side in ("low", "high"))
        ax.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)


def dash(kind: str) -> str:
    """Return the line style of a kind: dashed where prefixes are unacceptable."""
    return {"unrelated": ":"}.get(kind, "--" if kind.endswith("unacceptable") else "-")


def finish(ax: Axes, axis_label: str, percent: bool = True) -> None:
    """Label a panel; changes are in percentage points, accuracies in percent."""
    ax.set_xlabel(LENGTH)
    ax.set_ylabel(axis_label)
    if percent:
        ax.yaxis.set_major_formatter(in_percent())


def legend(figure: Figure, entries: Mapping[str, tuple[str, str]]) -> None:
    """Put one legend above all panels, mark 0 in them and leave flat curves room."""
    low, high = figure.axes[0].get_ylim()
    if high - low < FLAT:
        figure.axes[0].set_ylim((low + high - FLAT) / 2, (low + high + FLAT) / 2)
    for ax in figure.axes:
        if low <= 0 <= high:
            ax.axhline(0, color=palette.GREY, linewidth=0.7)
    handles = [
        handle(name, colour, linestyle=linestyle) for name, (colour, linestyle) in entries.items()
    ]
    legend_above(figure, handles, columns=4)
