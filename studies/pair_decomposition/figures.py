"""Figure of correlations with ratings between and within groups of sentences."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import dataset_label, group_handles, label_provenance, legend_above
from lingprob.figures.palette import Models
from lingprob.figures.panels import blank, grid, whiskers
from lingprob.papers.morcela.parameter_figures import STYLES
from lingprob.papers.run import Run

PARTS = {
    "between": "Part of r between {}s",
    "within": "Part of r within {}s",
    "r_between": "r of {}s' means",
    "r_within": "r within {}s",
}


def draw_decomposition(table: pd.DataFrame, run: Run) -> Figure:
    """Draw the r of each linking function between and within groups of sentences.

    A row is a data set and a grouping. On the left are the two parts that add up to r, on the right
    the correlations of groups' means and of deviations from them. Lines join a model's functions.
    Intervals are 95%.
    """
    if table.empty:
        return blank("no data set has pairs, paradigms or articles")
    rows = list(table.groupby(["dataset", "grouping"], sort=False))
    names = [name for name in STYLES if name in set(table["linking_function"])]
    figure, axes = grid(
        len(rows), len(PARTS), width=style.PAGE_INCHES / len(PARTS), height=1.5,
        margins=(0.0, 0.9), sharex=True, sharey="row",
    )  # fmt: skip
    datasets = list(dict.fromkeys(table["dataset"]))
    for of_row, ((dataset, grouping), part) in zip(axes, rows, strict=True):
        for ax, (quantity, title) in zip(of_row, PARTS.items(), strict=True):
            _join_functions(ax, part, quantity, names, run.models)
            ax.set_title(title.format(grouping), fontsize=6)
        label = dataset_label("Pearson r", dataset, datasets, run.titles)
        of_row[0].set_ylabel(label, fontsize=6)
    for ax in axes[-1]:
        ax.set_xticks(range(len(names)), [STYLES[name][0] for name in names], fontsize=5.5)
        ax.tick_params(axis="x", rotation=90)
    legend_above(figure, group_handles(table["model"], run.models))
    label_provenance(figure, [run.scale], table["rating_source"])
    return figure


def _join_functions(
    ax: Axes, part: pd.DataFrame, quantity: str, names: list[str], models: Models
) -> None:
    shown = list(dict.fromkeys(part["model"]))
    shifts = dict(zip(shown, np.linspace(-0.25, 0.25, len(shown) + 2)[1:-1], strict=True))
    for model, of_model in part.groupby("model", sort=False):
        of_model = of_model.assign(x=of_model["linking_function"].map(names.index)).sort_values("x")
        values = of_model[quantity]
        ends = whiskers(values, of_model[f"{quantity}_low"], of_model[f"{quantity}_high"])
        look = models[model]
        ax.errorbar(
            of_model["x"] + shifts[model], values, yerr=ends, color=look["colour"],
            marker=look["marker"], markersize=3 if len(shown) < 4 else 1.8, linewidth=0.6,
            elinewidth=0.5,
        )  # fmt: skip
    ax.axhline(0, color=palette.GREY, linewidth=0.6)
