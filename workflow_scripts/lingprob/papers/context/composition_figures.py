"""The figure of composed prefixes: dose and place, length, distance, and controls (beyond §5)."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.context.conditions import (
    ACCEPTABLE,
    DISTANCE,
    DOSE,
    EARLY,
    LATE,
    NONCE,
    NONE_AT_ALL,
    OVERLAP_MATCHED,
    PLACE,
    SHUFFLED,
    SIDES,
    THROUGHOUT,
    UNACCEPTABLE,
)
from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above
from lingprob.figures.panels import grid, in_percent, whiskers
from lingprob.papers.context.looks import number_of_pairs
from lingprob.papers.contract import Run, Tables

COLOURS = {ACCEPTABLE: palette.GREEN, UNACCEPTABLE: palette.PURPLE}
MARKERS = {EARLY: "<", LATE: ">"}
CONTROL_TITLES = {
    DOSE: "Own\nsuite",
    OVERLAP_MATCHED: "Others,\nas alike",
    NONCE: "Nonce\nwords",
    SHUFFLED: "Shuffled\nwords",
}
DELTA = r"$\Delta$ accuracy (points)"


def composition(tables: Tables, run: Run) -> Figure:
    """Draw changes in accuracy after composed prefixes; a row a model, a column a question.

    Args:
        tables: `composition` alone is drawn.
        run: its option `composed_tokens` is the length of prefixes whose composition varies.
    """
    rows, varied = tables["composition"], run.options["composed_tokens"]
    models = list(dict.fromkeys(rows["model"]))
    figure, axes = grid(
        len(models), 4, width=1.7, height=2.0, margins=(0.0, 0.9), sharey=True, sharex="col"
    )
    for line, model in zip(axes, models, strict=True):
        here = rows[rows["model"] == model]
        at_varied = here[here["length"] == varied]
        _dose(line[0], at_varied)
        _lengths(line[1], here)
        _distances(line[2], here)
        _controls(line[3], at_varied)
        n = number_of_pairs(here)
        line[0].set_title(f"{run.models[model]['title']}\n{n}")
        line[0].set_ylabel(DELTA)
        for ax in line:
            ax.axhline(0, color=palette.GREY, linewidth=0.7)
            ax.yaxis.set_major_formatter(in_percent())
    legend_above(
        figure,
        [
            handle("acceptable sentences", COLOURS[ACCEPTABLE], "o"),
            handle("unacceptable sentences", COLOURS[UNACCEPTABLE], "o", linestyle="--"),
            *(
                handle(f"unacceptable half {place}", palette.BLACK, marker, linestyle="none")
                for place, marker in MARKERS.items()
            ),
        ],
        columns=4,
    )
    label_provenance(figure, rows["scale"], note=f"dose and controls: {varied} tokens")
    return figure


def _errorbar(ax: Axes, rows: pd.DataFrame, x: pd.Series | list[float], **look: Any) -> None:
    ends = whiskers(rows["delta"].to_numpy(), rows["delta_low"].to_numpy(),
                    rows["delta_high"].to_numpy())  # fmt: skip
    ax.errorbar(x, rows["delta"], yerr=ends, elinewidth=0.8, capsize=1.5, **look)


def _dose(ax: Axes, rows: pd.DataFrame) -> None:
    doses = rows[rows["kind"] == DOSE].assign(dose=lambda table: table["level"].astype(float))
    doses = doses.sort_values("dose")
    _errorbar(ax, doses, doses["dose"], color=palette.BLACK, marker="o", linestyle="-")
    for number, (place, marker) in enumerate(MARKERS.items()):
        here = rows[(rows["kind"] == PLACE) & (rows["level"] == place)]
        beside = [0.44 + 0.12 * number] * len(here)
        _errorbar(ax, here, beside, color=palette.BLACK, marker=marker, linestyle="none")
    ax.set_xlabel("Unacceptable sentences (%)")
    ax.xaxis.set_major_formatter(in_percent())


def _band(ax: Axes, rows: pd.DataFrame, side: str) -> None:
    """Draw changes by `x`, with 95% intervals; dashed where sentences are unacceptable."""
    rows = rows.sort_values("x")
    dash = "--" if side == UNACCEPTABLE else "-"
    ax.plot(rows["x"], rows["delta"], dash, color=COLOURS[side], marker="o")
    ax.fill_between(
        rows["x"], rows["delta_low"], rows["delta_high"], color=COLOURS[side], alpha=0.13,
        linewidth=0,
    )  # fmt: skip


def _lengths(ax: Axes, rows: pd.DataFrame) -> None:
    for side, level in zip(SIDES, (NONE_AT_ALL, THROUGHOUT), strict=True):
        here = rows[(rows["kind"] == DOSE) & (rows["level"] == level)]
        _band(ax, here.assign(x=here["prefix_tokens"]), side)
    ax.set_xlabel("Length (tokens)")


def _distances(ax: Axes, rows: pd.DataFrame) -> None:
    for side in SIDES:
        here = rows[(rows["kind"] == DISTANCE) & (rows["level"] == side)]
        block = here.loc[here["length"] == here["length"].min(), "prefix_tokens"].mean()
        _band(ax, here.assign(x=here["prefix_tokens"] - block), side)
    ax.set_xlabel("Unrelated text between\nthem and the target (tokens)")


def _controls(ax: Axes, rows: pd.DataFrame) -> None:
    names = {SIDES[0]: NONE_AT_ALL, SIDES[1]: THROUGHOUT}
    for place, kind in enumerate(CONTROL_TITLES):
        for number, side in enumerate(SIDES):
            level = names[side] if kind == DOSE else side
            here = rows[(rows["kind"] == kind) & (rows["level"] == level)]
            beside = [place + 0.24 * (number - 0.5)] * len(here)
            _errorbar(ax, here, beside, color=COLOURS[side], marker="o", linestyle="none")
    ax.set_xticks(range(len(CONTROL_TITLES)), CONTROL_TITLES.values(), fontsize=6)
