"""Figures 9 to 14: scatters and matrices of suites and perturbations."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from lingprob.context.names import MATCHED, ORIGINAL
from lingprob.context.perturbations import PERTURBATIONS
from lingprob.figures import palette, style
from lingprob.figures.labels import name_point
from lingprob.figures.palette import Models
from lingprob.figures.panels import blank, grid, in_percent
from lingprob.papers.context.statistics import perturbation_points, suite_points
from lingprob.papers.run import Run

PERTURBATION_TITLES = {
    name: name.replace("_", " ").capitalize() for name in (ORIGINAL, *PERTURBATIONS)
}
TOO_FEW = "No suite has as many pairs as\ncontext.fewest_pairs asks for."
NAME_POINTS = 4.5, 6  # sizes of the names of many suites and of few


def perturbation_scatter(accuracy: pd.DataFrame, correlations: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 9: change in accuracy against similarity of perturbed to original prefixes."""
    shown = perturbation_points(accuracy)
    names = list(shown["model"].unique())
    figure, axes = grid(len(names), 2, width=style.PAGE_INCHES, height=2.4, margins=(0.0, 0.6))
    for line, model in zip(axes, names, strict=True):
        for ax, kind in zip(line, MATCHED, strict=True):
            here = shown[(shown["model"] == model) & (shown["kind"] == kind)]
            side = kind.removeprefix("matched_")
            colour = palette.GREEN if side == "acceptable" else palette.PURPLE
            ax.plot(here["similarity"], here["delta"], "o", color=colour)
            for row in here.sort_values("similarity").itertuples():
                title = PERTURBATION_TITLES[row.perturbation]
                name_point(ax, title, row.similarity, row.delta, fontsize=5.5)
            about = {"model": model, "analysis": "perturbations", "y": f"delta, {kind}"}
            rho = correlation(correlations, **about)
            ax.set_title(f"{run.models[model]['title']}: {side} prefixes\n{rho}")
            ax.set_xlabel("F₁ of words with the original prefix")
            ax.yaxis.set_major_formatter(in_percent())
            ax.margins(0.2, 0.4)
        line[0].set_ylabel("Mean change in accuracy (points)")
    return figure


def metric_scatter(
    accuracy: pd.DataFrame, correlations: pd.DataFrame, run: Run, kind: str
) -> Figure:
    """Draw Figures 10 and 11: suites' accuracy after the longest prefix against without one."""
    shown = suite_points(accuracy, kind)
    if shown.empty:
        return blank(TOO_FEW)
    names = list(shown["model"].unique())
    datasets = [name for name in run.titles if name in set(shown["dataset"])]
    figure, axes = grid(
        len(names), len(datasets), width=2.2, height=2.35, margins=(1.6, 0.6),
        sharex=True, sharey=True,
    )  # fmt: skip
    for line, model in zip(axes, names, strict=True):
        for ax, dataset in zip(line, datasets, strict=True):
            here = shown[(shown["model"] == model) & (shown["dataset"] == dataset)]
            # Suites of few pairs have many equal points, which look darker.
            look = {"color": run.models[model]["colour"], "alpha": 0.35, "markeredgewidth": 0}
            ax.plot(here["baseline"], here["accuracy"], run.models[model]["marker"], **look)
            ax.plot([0, 1], [0, 1], color=palette.GREY, linewidth=0.7, linestyle=":")
            about = {"model": model, "dataset": dataset, "analysis": "metric", "y": kind}
            name = f"{run.models[model]['title']}: {run.titles[dataset]}"
            ax.set_title(f"{name}\n{each(here)}\n{correlation(correlations, **about)}")
            ax.set_xlabel("Accuracy without a prefix")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(in_percent("%"))
        side = kind.removeprefix("matched_")
        line[0].set_ylabel(f"After the longest {side}\nmatched prefix")
    return figure


def overlaps(overlap: pd.DataFrame) -> Figure:
    """Draw Figure 12: mean F1 of tokens (left) and dependency labels (right) between suites."""
    measures = list(overlap["measure"].unique())
    figure, (line,) = matrices(1, len(measures), overlap)
    for ax, measure in zip(line, measures, strict=True):
        rows = overlap[overlap["measure"] == measure]
        title = f"Overlap of {'dependency labels' if measure == 'dependency' else 'tokens'}"
        image, _ = draw_matrix(ax, rows, "f1", title, cmap="viridis")
        figure.colorbar(image, ax=ax, label="Mean F₁", shrink=0.6)
    return figure


def suite_matrix(matrix: pd.DataFrame, dataset: str, models: Models) -> Figure:
    """Draw Figure 13: accuracy after sentences of another suite (left), and its change (right)."""
    rows = matrix[matrix["dataset"] == dataset]
    rows = rows[rows["target_suite"] != rows["prefix_suite"]]
    if rows.empty:
        return blank(TOO_FEW)
    names = list(rows["model"].unique())
    figure, axes = matrices(len(names), 2, rows)
    panels = (("accuracy", "accuracy", "viridis", 0), ("delta", "change", "RdBu", -1))
    for line, model in zip(axes, names, strict=True):
        here = rows[rows["model"] == model]
        for ax, (column, name, colours, low) in zip(line, panels, strict=True):
            title = f"{models[model]['title']}: {name}\n{each(here)}"
            image, _ = draw_matrix(ax, here, column, title, cmap=colours, vmin=low, vmax=1)
            figure.colorbar(image, ax=ax, format=in_percent("%"), shrink=0.6)
    return figure


def relative_matrix(matrix: pd.DataFrame, dataset: str, models: Models) -> Figure:
    """Draw Figure 14: relative improvement (%) of a suite (row) after another's sentences (column).

    Only the first model is drawn. Cells are white if the accuracy without a prefix is 0. The number
    after the name of a suite is its largest possible improvement.
    """
    rows = matrix[matrix["dataset"] == dataset]
    if rows.empty:
        return blank(TOO_FEW)
    model = rows["model"].iloc[0]
    rows = rows[rows["model"] == model]
    figure, ((ax,),) = grid(1, 1, width=style.PAGE_INCHES, height=6.6, margins=(0.0, 0.0))
    title = f"{models[model]['title']}: change in accuracy, % of that without a prefix"
    title = f"{title}\n{each(rows)}"
    look = {"cmap": "RdBu", "vmin": -100, "vmax": 100}
    image, wide = draw_matrix(ax, rows, "relative_improvement", title, **look)
    for (row, column), value in np.ndenumerate(wide.to_numpy()):
        if np.isfinite(value):
            colour = "white" if abs(value) > 60 else "black"
            text = {"ha": "center", "va": "center", "fontsize": 4.5, "color": colour}
            ax.text(column, row, f"{value:.0f}", **text)
    baseline = rows.groupby("target_suite")["baseline"].first()
    room = [f"{suite} (≤ {100 * (1 / baseline[suite] - 1):.0f})" for suite in wide.index]
    ax.set_yticks(range(len(wide)), room)
    ax.set_ylabel("Suite of the target (largest possible improvement, %)")
    figure.colorbar(image, ax=ax, label="%", shrink=0.6, extend="max")
    return figure


def each(rows: pd.DataFrame) -> str:
    """Return the number of pairs over which these rows are means, such as "n = 20 to 24"."""
    low, high = int(rows["n_pairs"].min()), int(rows["n_pairs"].max())
    return f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"


def matrices(rows: int, columns: int, cells: pd.DataFrame) -> tuple[Figure, np.ndarray]:
    """Return a figure and its panels (rows, columns), which are large enough for the suites."""
    scale = max(cells["target_suite"].nunique() / 30, 1)
    figure, axes = grid(rows, columns, width=style.PAGE_INCHES, height=3.2, margins=(0.0, 0.6))
    figure.set_size_inches(figure.get_size_inches() * scale)
    return figure, axes


def draw_matrix(
    ax: Axes, rows: pd.DataFrame, column: str, title: str, **look: Any
) -> tuple[AxesImage, pd.DataFrame]:
    """Draw a column by target suite (y) and prefix suite (x). Return the image and its numbers."""
    wide = rows.pivot(index="target_suite", columns="prefix_suite", values=column)
    image = ax.imshow(wide, **look)
    points = np.clip(135 / len(wide), *NAME_POINTS)
    ax.set_xticks(range(len(wide.columns)), wide.columns, rotation=90, fontsize=points)
    ax.set_yticks(range(len(wide)), wide.index, fontsize=points)
    ax.set_xlabel("Suite of the prefix")
    ax.set_ylabel("Suite of the target")
    ax.set_title(title)
    ax.grid(False)
    return image, wide


def correlation(correlations: pd.DataFrame, **about: Any) -> str:
    """Return a correlation as text, with its symbol and p. `about` selects a row by its columns."""
    chosen = np.logical_and.reduce([correlations[name] == about[name] for name in about])
    rows = correlations[chosen]
    if rows.empty or rows["value"].isna().iloc[0]:
        return "no correlation"
    symbol = {"spearman": "Spearman's ρ", "pearson": "Pearson's r"}[rows["statistic"].iloc[0]]
    p = rows["p"].iloc[0]
    return f"{symbol} = {rows['value'].iloc[0]:.2f}, p {f'= {p:.3f}' if p >= 0.001 else '< .001'}"
