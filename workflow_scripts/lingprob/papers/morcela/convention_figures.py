"""What conventions do to MORCELA's r, beta and gamma."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import group_handles, handle, legend_above, wrapped_title
from lingprob.figures.palette import Models
from lingprob.figures.panels import grid, whiskers
from lingprob.papers.contract import Run
from lingprob.papers.morcela.looks import LOOKS, PARAMETER_LABELS, R_LABEL

QUANTITIES = {"r_cv": R_LABEL, **PARAMETER_LABELS}
QUANTITIES = {name: QUANTITIES[name] for name in ("r_cv", "beta", "gamma")}
ROW_INCHES = 0.2


def conventions(fits: pd.DataFrame, run: Run) -> Figure:
    """Draw MORCELA's r, beta and gamma under each BOS policy and unigram source.

    A row is a convention, the default one first. A block is a family and a data set. Every model
    of a family has a point, the darker the larger. Hollow squares are SLOR's r. Intervals are 95%.
    """
    models = run.models
    shown = by_convention(fits)
    family = shown["model"].map(lambda name: models[name]["family"])
    blocks = list(shown.groupby([family, shown["dataset"]], sort=False))
    labels = [list(dict.fromkeys(block["row"])) for _, block in blocks]
    figure, axes = grid(
        len(blocks), len(QUANTITIES), width=style.PAGE_INCHES / 3,
        height=ROW_INCHES * (sum(map(len, labels)) / len(labels) + 2), margins=(0.0, 0.9),
        sharex="col", sharey="row", height_ratios=[len(rows) + 2 for rows in labels],
        width_ratios=[1.2, 1, 1],
    )  # fmt: skip
    several = shown["dataset"].nunique() > 1
    for of_block, ((_, dataset), block), rows in zip(axes, blocks, labels, strict=True):
        for ax, quantity in zip(of_block, QUANTITIES, strict=True):
            _plot_rows(ax, block, quantity, rows, models)
        of_block[0].set_yticks(range(len(rows)), rows, fontsize=5.5)
        of_block[0].set_ylim(len(rows) - 0.4, -0.6)
        title = str(models[block["model"].iloc[0]]["family_title"])
        of_dataset = f": {wrapped_title(dataset, run.titles, 60)}" if several else ""
        of_block[0].set_title(f"{title}{of_dataset}", loc="left")
    for ax, label in zip(axes[-1], QUANTITIES.values(), strict=True):
        ax.set_xlabel(label)
    handles = group_handles(shown["model"], models, "none")
    slor = handle("SLOR", LOOKS["slor"][0], "s", "none", markerfacecolor="white")
    legend_above(figure, [*handles, slor])
    return figure


def by_convention(fits: pd.DataFrame) -> pd.DataFrame:
    """Return the fits of SLOR and MORCELA with `row`, the name of each one's convention."""
    table = fits[fits["linking_function"].isin(["slor", "morcela"])]
    sources = table["unigrams"].map(source_name)
    default = table["default_convention"].map({True: " (default)", False: ""})
    return table.assign(row=table["bos"] + " | " + sources + default)


def source_name(source: str) -> str:
    """Return a unigram source's name without the model or `corpus_` before the corpus."""
    kind, _, of = source.partition("_")
    return of if kind == "corpus" else kind if kind.startswith("unigrahams") else source


def _plot_rows(
    ax: Axes, block: pd.DataFrame, quantity: str, rows: list[str], models: Models
) -> None:
    """Plot a quantity of each model of a family in rows, models side by side by size."""
    by_size = palette.by_size(dict.fromkeys(block["model"]), models)
    shifts = dict(zip(by_size, np.linspace(-0.32, 0.32, len(by_size) + 2)[1:-1], strict=True))
    place = {row: number for number, row in enumerate(rows)}
    small = 4.0 if len(by_size) < 4 else 2.2
    for fit in block.to_dict("records"):
        look, y = models[fit["model"]], place[fit["row"]] + shifts[fit["model"]]
        if fit["linking_function"] == "slor":
            if quantity == "r_cv":
                ax.plot(fit["r_cv"], y, "s", color=LOOKS["slor"][0], markerfacecolor="white",
                        markersize=small)  # fmt: skip
            continue
        ends = whiskers(fit[quantity], fit[f"{quantity}_low"], fit[f"{quantity}_high"])
        ax.errorbar(
            fit[quantity], y, xerr=ends, color=look["colour"], marker=look["marker"],
            markersize=small, elinewidth=0.6,
        )  # fmt: skip
    fixed = {"beta": 1, "gamma": 0}
    if quantity in fixed:
        ax.axvline(fixed[quantity], color=palette.GREY, linewidth=0.8, linestyle=":")
