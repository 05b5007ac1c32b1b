"""Figures 10 to 14: scatters and matrices of suites."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.palette import Models
from lingprob.figures.panels import blank, grid, in_percent
from lingprob.papers.run import Run

TOO_FEW = "No suite has as many pairs as\ncontext.fewest_pairs asks for."


def metric_scatter(points: pd.DataFrame, correlations: pd.DataFrame, run: Run, kind: str) -> Figure:
    """Figures 10 and 11: suites' accuracy without a prefix and after the longest of one kind."""
    shown = points[(points["analysis"] == "metric") & (points["kind"] == kind)]
    if shown.empty:
        return blank(TOO_FEW)
    names = list(dict.fromkeys(shown["model"]))
    datasets = [name for name in run.titles if name in set(shown["dataset"])]
    figure, axes = grid(
        len(names), len(datasets), width=2.2, height=2.35, margins=(1.6, 0.6),
        sharex=True, sharey=True,
    )  # fmt: skip
    for line, model in zip(axes, names, strict=True):
        for ax, dataset in zip(line, datasets, strict=True):
            here = shown[(shown["model"] == model) & (shown["dataset"] == dataset)]
            # Few pairs a suite make many equal points: darker where several lie.
            colour, marker = run.models[model]["colour"], run.models[model]["marker"]
            ax.plot(here["x"], here["y"], marker, color=colour, alpha=0.35, markeredgewidth=0)
            ax.plot([0, 1], [0, 1], color=palette.GREY, linewidth=0.7, linestyle=":")
            rows = correlations[correlations["dataset"] == dataset]
            value = correlation(rows, model, "metric", "y", kind)
            name = f"{run.models[model]['title']}: {run.titles[dataset]}"
            ax.set_title(f"{name}\nn = {each(here)}\n{value}")
            ax.set_xlabel("Accuracy without a prefix")
            for axis in (ax.xaxis, ax.yaxis):
                axis.set_major_formatter(in_percent("%"))
        side = kind.removeprefix("matched_")
        line[0].set_ylabel(f"After the longest {side}\nmatched prefix")
    return figure


def overlaps(overlap: pd.DataFrame) -> Figure:
    """Figure 12: mean F1 of tokens (left) and dependency labels (right) between suites."""
    measures = list(dict.fromkeys(overlap["measure"]))
    figure, axes = grid(1, len(measures), width=style.PAGE_INCHES, height=3.3, margins=(0.0, 0.0))
    for ax, measure in zip(axes[0], measures, strict=True):
        wide = square(overlap[overlap["measure"] == measure], "f1")
        image = ax.imshow(wide, cmap="viridis")
        index_axes(ax, wide)
        ax.set_title(f"{measure.capitalize()} overlap")
        figure.colorbar(image, ax=ax, label="F₁", shrink=0.8)
    return figure


def suite_matrix(matrix: pd.DataFrame, dataset: str, models: Models) -> Figure:
    """Figure 13: accuracy after sentences of another suite (left), and its change (right)."""
    rows = matrix[matrix["dataset"] == dataset]
    rows = rows[rows["target_suite"] != rows["prefix_suite"]]
    if rows.empty:
        return blank(TOO_FEW)
    names = list(dict.fromkeys(rows["model"]))
    figure, axes = grid(len(names), 2, width=style.PAGE_INCHES, height=3.0, margins=(0.0, 0.3))
    for line, model in zip(axes, names, strict=True):
        here = rows[rows["model"] == model]
        panels = (
            ("accuracy", "Accuracy", "viridis", 0),
            ("delta", "Δ accuracy", "RdBu", -1),
        )
        for ax, (column, name, colours, low) in zip(line, panels, strict=True):
            wide = square(here, column)
            image = ax.imshow(wide, cmap=colours, vmin=low, vmax=1)
            index_axes(ax, wide)
            ax.set_title(f"{models[model]['title']}: {name} ({each(here)})")
            figure.colorbar(image, ax=ax, format=in_percent("%"), shrink=0.8)
    return figure


def relative_matrix(matrix: pd.DataFrame, dataset: str, models: Models) -> Figure:
    """Figure 14: relative improvement (%) of a suite (row) after sentences of another (column).

    Of the first model; blank where the accuracy without a prefix is 0. A row's name says how much
    its accuracy without a prefix leaves room for.
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
            ax.text(
                column,
                row,
                f"{value:.0f}",
                ha="center",
                va="center",
                fontsize=4.5,
                color="white" if abs(value) > 60 else "black",
            )
    ax.set_xticks(range(len(wide.columns)), wide.columns, rotation=90, fontsize=6)
    ax.set_yticks(range(len(wide)), room, fontsize=6)
    ax.grid(False)
    ax.set_xlabel("Prefix suite")
    ax.set_ylabel("Test suite (most that is left to gain, %)")
    ax.set_title(
        f"{models[model]['title']}: change in accuracy, % of that without a prefix ({each(rows)})"
    )
    figure.colorbar(image, ax=ax, label="%", shrink=0.6, extend="max")
    return figure


def each(rows: pd.DataFrame) -> str:
    """Return how many pairs, or items, are behind a point or cell."""
    low, high = (int(value) for value in (rows["n_pairs"].min(), rows["n_pairs"].max()))
    return f"{low} each" if low == high else f"{low} to {high} each"


def square(rows: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return a matrix of target suites by prefix suites, both in the order of their names."""
    return rows.pivot(index="target_suite", columns="prefix_suite", values=column)


def index_axes(ax: Axes, wide: pd.DataFrame) -> None:
    """Number suites in alphabetical order, as the paper does."""
    ax.set_xlabel("Prefix suite (alphabetical)")
    ax.set_ylabel("Test suite (alphabetical)")
    ticks = range(0, len(wide), max(1, len(wide) // 6))
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    ax.grid(False)


def correlation(
    correlations: pd.DataFrame, model: str, analysis: str, column: str, value: str
) -> str:
    """Return a correlation as text: its symbol, value and p."""
    rows = correlations[
        (correlations["model"] == model)
        & (correlations["analysis"] == analysis)
        & (correlations[column] == value)
    ]
    if rows.empty or rows["value"].isna().iloc[0]:
        return "no correlation"
    symbol = {"spearman": "Spearman's ρ", "pearson": "Pearson's r"}[rows["statistic"].iloc[0]]
    p = rows["p"].iloc[0]
    return f"{symbol} = {rows['value'].iloc[0]:.2f}, p {f'= {p:.3f}' if p >= 0.001 else '< .001'}"
