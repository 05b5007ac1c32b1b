"""ΔLogLik without leaked words, by the length of the overlaps that count as leakage."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import style
from lingprob.figures.labels import Models
from lingprob.papers.leakage.reading.figures import family_colours, family_of

COLUMNS = 4
PANEL_INCHES = 1.9
BY_TIMES = 1000  # reading times that ΔLogLik is given for


def deltas_by_threshold(
    adjusted: pd.DataFrame, models: Models, titles: Mapping[str, str]
) -> Figure:
    """Draw ΔLogLik of 1,000 reading times without the words of ever shorter overlaps.

    The first point of a line has all words. Thin lines are models, thick ones the means of a family
    and state of fine-tuning; grey numbers are the shares of reading times that are left out.

    Args:
        adjusted: a `leakage_adjusted` table.
        models: title, family and parameters by model.
        titles: of the data sets.
    """
    drawn = adjusted[adjusted["adjustment"] != "covariate"]
    datasets = list(dict.fromkeys(drawn["dataset"]))
    columns = min(COLUMNS, len(datasets))
    rows = -(-len(datasets) // columns)
    figure, axes = plt.subplots(
        rows, columns, squeeze=False,
        figsize=(max(style.COLUMN_INCHES, style.PAGE_INCHES * columns / COLUMNS),
                 0.9 + rows * PANEL_INCHES),
    )  # fmt: skip
    colours = family_colours(drawn["model"], models)
    thresholds = sorted(drawn["threshold"].dropna().astype(int).unique(), reverse=True)
    places = {None: 0, **{threshold: n for n, threshold in enumerate(thresholds, start=1)}}
    for number, axis in enumerate(axes.flat):
        if number >= len(datasets):
            axis.set_visible(False)
            continue
        part = drawn[drawn["dataset"] == datasets[number]]
        part = part.assign(
            place=[places[None if pd.isna(value) else int(value)] for value in part["threshold"]],
            value=BY_TIMES * part["delta_by_time"],
            family=[family_of(name, models) for name in part["model"]],
        ).sort_values("place")
        for family, of_family in part.groupby("family", sort=False):
            colour = colours[str(family)]
            for _, of_model in of_family.groupby("model", sort=False):
                axis.plot(of_model["place"], of_model["value"], color=colour, lw=0.4, alpha=0.5)
            mean = of_family.groupby("place")["value"].mean()
            axis.plot(mean.index, mean, color=colour, marker="o", markersize=3)
        axis.axhline(0, color=style.BLACK, linewidth=0.6)
        axis.set_title(fill(titles[datasets[number]], 22))
        axis.set_xticks(list(places.values()), ["all", *map(str, thresholds)])
        for place, share in part.groupby("place")["left_out"].first().items():
            axis.text(
                float(str(place)), 0.01, f"{share:.1%}" if place else "", fontsize=5,
                color=style.GREY, ha="center", transform=axis.get_xaxis_transform(),
            )  # fmt: skip
        axis.set_xlabel("words left out: overlap\nof so many tokens")
        if number % columns == 0:
            axis.set_ylabel("ΔLogLik of 1,000 times (nats)")
    handles = [
        Line2D([], [], color=colours[family], marker="o", markersize=3, label=family)
        for family in dict.fromkeys(family_of(name, models) for name in drawn["model"])
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=min(3, len(handles)))
    style.label_provenance(figure, drawn["rt_source"], drawn["scale"], "reading times")
    return figure
