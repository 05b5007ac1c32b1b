"""How models differ in MORCELA's parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import dataset_label
from lingprob.figures.panels import blank, grid
from lingprob.papers.contract import Run
from lingprob.papers.morcela.differences import parameter_differences
from lingprob.papers.morcela.looks import SHORT_LABELS

MOST_WRITTEN = 6  # models whose differences are numbers beside colours


def parameter_matrix(draws: pd.DataFrame, fits: pd.DataFrame, run: Run) -> Figure:
    """Beta and gamma of each model less those of each other: a row a data set.

    Coloured where the 95% interval of the difference on shared resamples leaves out 0.
    """
    table = parameter_differences(fits, draws)
    if table.empty:
        return blank("no two models have MORCELA's fits to the same sentences")
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
