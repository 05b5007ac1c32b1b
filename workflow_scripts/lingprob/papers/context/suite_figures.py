"""Figures 9 to 14: scatters and matrices of suites and perturbations."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.context.names import MATCHED, ORIGINAL
from lingprob.context.perturbations import TITLES
from lingprob.figures import palette, style
from lingprob.figures.labels import name_point
from lingprob.figures.palette import Models
from lingprob.figures.panels import blank, grid, in_percent
from lingprob.papers.context.statistics import perturbation_points, suite_points
from lingprob.papers.run import Run

PERTURBATION_TITLES = {ORIGINAL: "Original", **TITLES}
TOO_FEW = "No suite has as many pairs as\ncontext.fewest_pairs asks for."
# Axes with more suites show numbers, with a key below the panels.
MOST_NAMES = 25
KEY_COLUMNS = 3


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
            colour, marker = run.models[model]["colour"], run.models[model]["marker"]
            ax.plot(here["baseline"], here["accuracy"], marker, color=colour, alpha=0.35,
                    markeredgewidth=0)  # fmt: skip
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
    tables = [square(overlap[overlap["measure"] == measure], "f1") for measure in measures]
    figure, (line,) = matrices(tables[:1], len(measures))
    for ax, measure, wide in zip(line, measures, tables, strict=True):
        image = ax.imshow(wide, cmap="viridis")
        name_suites(ax, wide)
        ax.set_title(f"Overlap of {'dependency labels' if measure == 'dependency' else 'tokens'}")
        figure.colorbar(image, ax=ax, label="Mean F₁", shrink=0.6)
    return figure


def suite_matrix(matrix: pd.DataFrame, dataset: str, models: Models) -> Figure:
    """Draw Figure 13: accuracy after sentences of another suite (left), and its change (right)."""
    rows = matrix[matrix["dataset"] == dataset]
    rows = rows[rows["target_suite"] != rows["prefix_suite"]]
    if rows.empty:
        return blank(TOO_FEW)
    names = list(rows["model"].unique())
    of_models = [rows[rows["model"] == name] for name in names]
    figure, axes = matrices([square(here, "accuracy") for here in of_models], 2)
    panels = (("accuracy", "accuracy", "viridis", 0), ("delta", "change", "RdBu", -1))
    for line, model, here in zip(axes, names, of_models, strict=True):
        for ax, (column, name, colours, low) in zip(line, panels, strict=True):
            wide = square(here, column)
            image = ax.imshow(wide, cmap=colours, vmin=low, vmax=1)
            name_suites(ax, wide)
            ax.set_title(f"{models[model]['title']}: {name}\n{each(here)}")
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
    wide = square(rows, "relative_improvement")
    baseline = rows.groupby("target_suite")["baseline"].first()
    room = [f"{suite} (≤ {100 * (1 / baseline[suite] - 1):.0f})" for suite in wide.index]
    figure, ((ax,),) = grid(1, 1, width=style.PAGE_INCHES, height=6.6, margins=(0.0, 0.0))
    image = ax.imshow(wide, cmap="RdBu", vmin=-100, vmax=100)
    for (row, column), value in np.ndenumerate(wide.to_numpy()):
        if np.isfinite(value):
            colour = "white" if abs(value) > 60 else "black"
            ax.text(column, row, f"{value:.0f}", ha="center", va="center", fontsize=4.5,
                    color=colour)  # fmt: skip
    ax.set_xticks(range(len(wide.columns)), wide.columns, rotation=90, fontsize=6)
    ax.set_yticks(range(len(wide)), room, fontsize=6)
    ax.grid(False)
    ax.set_xlabel("Suite of the prefix")
    ax.set_ylabel("Suite of the target (largest possible improvement, %)")
    title = f"{models[model]['title']}: change in accuracy, % of that without a prefix"
    ax.set_title(f"{title}\n{each(rows)}")
    figure.colorbar(image, ax=ax, label="%", shrink=0.6, extend="max")
    return figure


def each(rows: pd.DataFrame) -> str:
    """Return the number of pairs over which these rows are means, such as "n = 20 to 24"."""
    low, high = int(rows["n_pairs"].min()), int(rows["n_pairs"].max())
    return f"n = {low:,}" if low == high else f"n = {low:,} to {high:,}"


def square(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a matrix of target suites by prefix suites, both in the order of their names."""
    return rows.pivot(index="target_suite", columns="prefix_suite", values=column)


def matrices(tables: list[pd.DataFrame], columns: int) -> tuple[Figure, list[list[Axes]]]:
    """Return a figure with one row of panels per table, and a key if suites are too many to name.

    All tables have the suites of the first.
    """
    names = list(tables[0].index)
    key = len(names) > MOST_NAMES
    height = 3.0 if key else 2.4 + 0.1 * len(names)
    figure, axes = grid(
        len(tables) + key, columns, width=style.PAGE_INCHES, height=height, margins=(0.0, 0.6)
    )
    if key:
        for ax in axes[-1]:
            ax.set_axis_off()
        numbered = [f"{number} {name}" for number, name in enumerate(names)]
        size = -(-len(numbered) // KEY_COLUMNS)
        for place in range(KEY_COLUMNS):
            text = "\n".join(numbered[place * size : (place + 1) * size])
            axes[-1, 0].text(place * columns * 1.3 / KEY_COLUMNS, 1, text, fontsize=5, va="top",
                             transform=axes[-1, 0].transAxes).set_in_layout(False)  # fmt: skip
    return figure, [list(line) for line in axes[: len(tables)]]


def name_suites(ax: Axes, wide: pd.DataFrame) -> None:
    """Name the suites on both axes, or number them as the paper does if there are many."""
    if len(wide) <= MOST_NAMES:
        ax.set_xticks(range(len(wide.columns)), wide.columns, rotation=90, fontsize=6)
        ax.set_yticks(range(len(wide)), wide.index, fontsize=6)
    else:
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_ticks(range(0, len(wide), len(wide) // 6))
    ax.set_xlabel("Suite of the prefix")
    ax.set_ylabel("Suite of the target")
    ax.grid(False)


def correlation(correlations: pd.DataFrame, **about: Any) -> str:
    """Return a correlation as text, with its symbol and p. `about` selects a row by its columns."""
    chosen = np.logical_and.reduce([correlations[name] == about[name] for name in about])
    rows = correlations[chosen]
    if rows.empty or rows["value"].isna().iloc[0]:
        return "no correlation"
    symbol = {"spearman": "Spearman's ρ", "pearson": "Pearson's r"}[rows["statistic"].iloc[0]]
    p = rows["p"].iloc[0]
    return f"{symbol} = {rows['value'].iloc[0]:.2f}, p {f'= {p:.3f}' if p >= 0.001 else '< .001'}"
