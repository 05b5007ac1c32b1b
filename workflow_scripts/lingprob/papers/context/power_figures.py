"""The figure of how many prefixes a claim needs: variance components and power curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above
from lingprob.figures.panels import blank, grid, in_percent, label_logarithmic
from lingprob.papers.context.looks import COLOURS, label
from lingprob.papers.context.prefix_power import (
    EFFECTS,
    LEVELS,
    NUMBERS,
    Sample,
    size_of,
    uncertainty,
)
from lingprob.papers.contract import Run, Tables
from lingprob.regression.crossed_power import POWER, Variances, power

# In none of the kinds' colours.
COMPONENTS = {
    "suite": ("between suites", palette.GREY),
    "target": ("between targets", palette.SAND),
    "source": ("between suites that prefixes are of", palette.TEAL),
    "prefix": ("between prefixes", palette.WINE),
    "residual": ("target by prefix", palette.YELLOW),
}
DASHES = {"dealt": "-", "crossed": ":"}
# The effect that curves are of, among those of a measure.
SHOWN = 1
NOT_CROSSED = "No targets stand after several prefixes\nthat stand before several targets."


def prefixes_needed(tables: Tables, run: Run) -> Figure:
    """Draw shares of variance (left) and power by number of prefixes; a row a model and measure.

    Args:
        tables: `prefix_variances` and `prefixes_needed`.
        run: for the models' titles, and its option `control`.
    """
    variances, needed = tables["prefix_variances"], tables["prefixes_needed"]
    figure = blank(NOT_CROSSED) if needed.empty else _drawn(variances, needed, run)
    label_provenance(figure, [run.scale], note=recommendation(needed, run))
    return figure


def _drawn(variances: pd.DataFrame, needed: pd.DataFrame, run: Run) -> Figure:
    panels = list(needed.groupby(["model", "measure"], sort=False))
    figure, axes = grid(len(panels), 3, width=2.2, height=1.9, margins=(0.6, 1.1))
    for line, ((model, measure), rows) in zip(axes, panels, strict=True):
        here = variances[(variances["model"] == model) & (variances["measure"] == measure)]
        _shares(line[0], here, run)
        name = measure.replace("logprob_", "log-probability ")
        line[0].set_title(f"{run.models[model]['title']}\n{name.capitalize()}: variance")
        effect = EFFECTS[measure][SHOWN]
        shown = rows[rows["effect"] == effect]
        for ax, level in zip(line[1:], LEVELS, strict=True):
            _curves(ax, shown[shown["level"] == level], here, effect, level)
            mean = "One suite" if level == "suite" else f"{shown['n_suites'].max()} suites"
            n = f"{mean}, n = {shown['n_targets'].max():,} each"
            ax.set_title(f"{n}\nto find: {size_of(measure, effect)}")
        line[1].set_ylabel("Power")
    kinds = dict.fromkeys(needed["kind"])
    legend_above(figure, _handles(list(kinds), run), columns=4)
    return figure


def recommendation(needed: pd.DataFrame, run: Run) -> str:
    """Return what the kind that needs most prefixes needs for the mean over suites, by accuracy.

    Of kinds that need as many it is that whose interval ends highest, then that of most error.
    """
    rows = needed[
        (needed["measure"] == "accuracy")
        & (needed["level"] == "all")
        & (needed["design"] == "dealt")
        & (needed["effect"] == EFFECTS["accuracy"][SHOWN])
    ]
    if rows.empty:
        return ""
    unlimited = rows.fillna({"needed": np.inf, "needed_high": np.inf})
    most = unlimited.sort_values(["needed", "needed_high", "std_error"]).iloc[-1]
    about = f"{run.models[most['model']]['title']}, {label(most['kind'], run)}"
    return f"{about}, which needs most: {most['advice']}"


def _shares(ax: Axes, rows: pd.DataFrame, run: Run) -> None:
    kinds = list(dict.fromkeys(rows["kind"]))[::-1]
    left = np.zeros(len(kinds))
    for component, (_, colour) in COMPONENTS.items():
        shares = rows[rows["component"] == component].set_index("kind")["share"]
        widths = shares.reindex(kinds).fillna(0.0).to_numpy()
        ax.barh(range(len(kinds)), widths, left=left, color=colour, height=0.6)
        left += widths
    ax.set_yticks(range(len(kinds)), [label(kind, run) for kind in kinds], fontsize=6)
    ax.set_ylim(-0.7, len(kinds) - 0.3)
    ax.set_xlim(0, 1)
    ax.set_xlabel("Share (%)")
    ax.xaxis.set_major_formatter(in_percent())


def _curves(
    ax: Axes, rows: pd.DataFrame, variances: pd.DataFrame, effect: float, level: str
) -> None:
    """Draw the power by number of prefixes, and where it reaches .8, with its interval."""
    last = max(20, int(rows["n_targets"].max()))
    for row in rows.itertuples():
        of_kind = variances[variances["kind"] == row.kind].set_index("component")["variance"]
        sample = Sample(row.n_suites, row.n_targets, row.n_prefixes)
        found, freedom = uncertainty(Variances(**of_kind), sample, level, row.design)
        # One prefix tests no suite, and no more are dealt out than there are targets.
        known = np.isfinite(found) & (freedom > 0) & (last >= NUMBERS)
        curve = power(effect, found, freedom)
        ax.plot(NUMBERS[known], curve[known], DASHES[row.design], color=COLOURS[row.kind])
        if row.design == "dealt" and np.isfinite(row.needed):
            high = min(row.needed_high, last) if np.isfinite(row.needed_high) else last
            ax.plot([row.needed_low, high], [POWER] * 2, color=COLOURS[row.kind], linewidth=0.8)
            ax.plot(row.needed, POWER, "o", color=COLOURS[row.kind])
    ax.axhline(POWER, color=palette.GREY, linewidth=0.7, linestyle="--")
    ax.set_xscale("log")
    ax.set_xlim(0.9, 1.1 * last)
    label_logarithmic(ax.xaxis, most=6)
    ax.set_ylim(0, 1.03)
    ax.set_xlabel("Prefixes a suite")


def _handles(kinds: list[str], run: Run) -> list[Line2D]:
    return [
        *(handle(label(kind, run), COLOURS[kind]) for kind in kinds),
        handle("each target after one prefix", palette.BLACK, linestyle=DASHES["dealt"]),
        handle("each target after all prefixes", palette.BLACK, linestyle=DASHES["crossed"]),
        *(handle(what, colour, "s", linestyle="none") for what, colour in COMPONENTS.values()),
    ]
