"""Where correlation lies, between or within groups of sentences, and how models differ."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import dataset_label, group_handles, legend_above
from lingprob.figures.palette import Models
from lingprob.figures.panels import grid, whiskers
from lingprob.papers.contract import Run
from lingprob.papers.morcela.differences import parameter_differences
from lingprob.papers.morcela.looks import NAMES, SHORT_LABELS

PARTS = {
    "between": "Part of r between {}s",
    "within": "Part of r within {}s",
    "r_between": "r of {}s' means",
    "r_within": "r within {}s",
}
MOST_WRITTEN = 6  # models whose differences are numbers beside colours


def decomposition(table: pd.DataFrame, run: Run) -> Figure:
    """R of each linking function by what lies between and within groups of sentences.

    A row a data set and grouping. On the left the two parts that add up to r, on the right the
    correlations of groups' means and of deviations from them. Lines join a model's functions;
    intervals are 95%.
    """
    if table.empty:
        return _nothing("no data set has pairs, paradigms or articles")
    rows = list(table.groupby(["dataset", "grouping"], sort=False))
    names = [name for name in NAMES if name in set(table["linking_function"])]
    figure, axes = grid(
        len(rows), len(PARTS), width=style.PAGE_INCHES / len(PARTS), height=1.5,
        margins=(0.0, 0.9), sharex=True, sharey="row",
    )  # fmt: skip
    datasets = list(dict.fromkeys(table["dataset"]))
    for of_row, ((dataset, grouping), part) in zip(axes, rows, strict=True):
        for ax, (quantity, title) in zip(of_row, PARTS.items(), strict=True):
            _join_functions(ax, part, quantity, names, run.models)
            ax.set_title(title.format(grouping), fontsize=7)
        of_row[0].set_ylabel(dataset_label("Pearson r", dataset, datasets, run.titles))
    for ax in axes[-1]:
        ax.set_xticks(range(len(names)), [NAMES[name] for name in names], fontsize=5.5)
        ax.tick_params(axis="x", rotation=90)
    legend_above(figure, group_handles(table["model"], run.models))
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


def parameter_matrix(draws: pd.DataFrame, fits: pd.DataFrame, run: Run) -> Figure:
    """Beta and gamma of each model less those of each other: a row a data set.

    Coloured where the 95% interval of the difference on shared resamples leaves out 0.
    """
    table = parameter_differences(fits, draws)
    if table.empty:
        return _nothing("no two models have MORCELA's fits to the same sentences")
    datasets, shown = (list(dict.fromkeys(each["dataset"])) for each in (table, fits))
    count = len({*table["model"], *table["other"]})
    figure, axes = grid(
        len(datasets), 2, width=style.PAGE_INCHES / 2, height=min(3.4, 1.8 + 0.2 * count),
        margins=(0.0, 0.4), narrowest=style.PAGE_INCHES,
    )  # fmt: skip
    for of_row, dataset in zip(axes, datasets, strict=True):
        part = table[table["dataset"] == dataset]
        names = [name for name in run.models if name in {*part["model"], *part["other"]}]
        titles = [str(run.models[name]["title"]) for name in names]
        for ax, parameter in zip(of_row, ("beta", "gamma"), strict=True):
            matrix = _matrix(part, names, parameter)
            reach = np.nanmax(np.abs(matrix)) if np.isfinite(matrix).any() else 1.0
            image = ax.imshow(matrix, cmap="RdBu_r", vmin=-reach, vmax=reach)
            figure.colorbar(image, ax=ax, shrink=0.7)
            if len(names) <= MOST_WRITTEN:
                for (y, x), value in np.ndenumerate(matrix):
                    colour = "white" if abs(value) > 0.6 * reach else palette.BLACK
                    text = f"{value:+.2f}" if np.isfinite(value) else ""
                    ax.text(x, y, text, ha="center", va="center", fontsize=6, color=colour)
            ax.set_xticks(range(len(names)), titles, fontsize=5.5, rotation=90)
            ax.set_yticks(range(len(names)), titles, fontsize=5.5)
            ax.set_title(f"{SHORT_LABELS[parameter]}: row less column")
            ax.grid(visible=False)
        of_row[0].set_ylabel(dataset_label("", dataset, shown, run.titles))
    return figure


def _matrix(table: pd.DataFrame, names: list[str], parameter: str) -> np.ndarray:
    """Return differences (models, models), NaN where the interval holds 0."""
    matrix = np.full((len(names), len(names)), np.nan)
    for row in table.to_dict("records"):
        low, high = row[f"{parameter}_low"], row[f"{parameter}_high"]
        if low > 0 or high < 0:
            at = names.index(row["model"]), names.index(row["other"])
            matrix[at], matrix[at[::-1]] = row[parameter], -row[parameter]
    return matrix


def _nothing(why: str) -> Figure:
    figure, ((ax,),) = grid(1, 1, width=style.COLUMN_INCHES, height=1.0, margins=(0.0, 0.3))
    ax.text(0.5, 0.5, why, ha="center", va="center", fontsize=7)
    ax.set_axis_off()
    return figure
