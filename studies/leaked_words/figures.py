"""ΔLogLik without leaked words, by the length of the overlaps that count as leakage."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import (
    group_handles,
    label_provenance,
    legend_above,
    wrapped_title,
)
from lingprob.figures.palette import Models
from lingprob.figures.panels import grid

COLUMNS = 4
PANEL_INCHES = 1.9
TIMES = 1000  # reading times that ΔLogLik is given for


def leakage(deltas: pd.DataFrame, models: Models, titles: Mapping[str, str]) -> Figure:
    """Draw ΔLogLik of 1,000 reading times without the words of ever shorter overlaps.

    The first point of a line has all words. Thin lines are models, and thick lines the means of a
    family and state of fine-tuning. Brackets have the share of reading times that are left out.

    Args:
        deltas: as `analysis.deltas_without_leaked_words` returns it.
        models: as `palette.describe_models` describes them.
        titles: of data sets.
    """
    datasets = list(dict.fromkeys(deltas["dataset"]))
    columns = min(COLUMNS, len(datasets))
    rows = -(-len(datasets) // columns)
    figure, axes = grid(
        rows, columns, width=style.PAGE_INCHES / COLUMNS, height=PANEL_INCHES, margins=(0.3, 0.9)
    )
    limits = sorted(deltas["threshold"].dropna().astype(int).unique(), reverse=True)
    for number, axis in enumerate(axes.flat):
        if number >= len(datasets):
            axis.set_visible(False)
            continue
        _by_threshold(axis, deltas[deltas["dataset"] == datasets[number]], limits, models)
        axis.set_title(wrapped_title(datasets[number], titles, 22))
        axis.set_xlabel("words left out:\noverlap in tokens\n(share)", fontsize=7)
        if number % columns == 0:
            axis.set_ylabel(f"ΔLogLik of {TIMES:,} times (nats)")
    legend_above(figure, group_handles(deltas["model"], models))
    label_provenance(figure, deltas["scale"], deltas["rt_source"], "reading times")
    return figure


def _by_threshold(axis: Axes, part: pd.DataFrame, limits: list[int], models: Models) -> None:
    place = {limit: number for number, limit in enumerate(limits, start=1)}
    part = part.assign(
        place=part["threshold"].astype(object).map(place).fillna(0).astype(int),
        value=TIMES * part["delta_by_time"],
        group=[models[name]["group"] for name in part["model"]],
        colour=[models[name]["group_colour"] for name in part["model"]],
    ).sort_values("place")
    for (_, colour), group in part.groupby(["group", "colour"], sort=False):
        for _, model in group.groupby("model", sort=False):
            axis.plot(model["place"], model["value"], color=colour, linewidth=0.4, alpha=0.5)
        mean = group.groupby("place")["value"].mean()
        axis.plot(mean.index, mean, color=colour, marker="o", markersize=3)
    axis.axhline(0, color=palette.BLACK, linewidth=0.6)
    shares = part.groupby("place")["left_out"].first()
    named = [f"{limit}\n({shares[n]:.1%})" for n, limit in enumerate(limits, 1) if n in shares]
    axis.set_xticks(shares.index, ["all", *named], fontsize=6)
