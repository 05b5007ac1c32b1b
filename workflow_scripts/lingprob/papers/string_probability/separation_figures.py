"""Draw Figures 4 to 6 and 8 of Hu et al. (2026): separation of strings by scores."""

from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import palette, style
from lingprob.figures.labels import few_handles, handle, legend_above, wrapped_title
from lingprob.figures.panels import grid, name_axes, whiskers, wrapped
from lingprob.papers.run import Run

GRAMMATICAL = {True: (palette.BLUE, "grammatical"), False: (palette.RED, "ungrammatical")}
METRICS = {
    "logprob": ("log p", palette.GREY),
    "uniform_bayes_factor": ("BF uniform", palette.PURPLE),
    "unigram_bayes_factor": ("BF unigram", palette.GREEN),
    "slor": ("SLOR", palette.ORANGE),
    "mean_logprob": ("mean log p", palette.SKY),
}
HISTOGRAM_BINS = 30
ROW_LETTERS = 22  # width of a line of text next to a row of densities
# No area exceeds this (§6.4).
HIGHEST_AUC = 0.75
# Beyond these quantiles a few long sentences would squeeze the rest.
SHOWN = (0.002, 0.998)


def distributions(scores: pd.DataFrame, run: Run, by_dataset: bool) -> Figure:
    """Draw Figures 4a and 5: densities of each metric for grammatical and ungrammatical strings.

    A row is a model, over all its data sets in `scores`, or a model on one data set. A sample has
    the weight of the data set that it was drawn from.
    """
    columns = ["model", "dataset"] if by_dataset else ["model"]
    groups = list(scores.groupby(columns, sort=False))
    figure, axes = grid(len(groups), len(METRICS), width=style.PAGE_INCHES, height=1.15)
    for row, (key, group) in enumerate(groups):
        for ax, metric in zip(axes[row], METRICS, strict=True):
            density(ax, group, metric)
            if row == 0:
                ax.set_title(METRICS[metric][0], fontsize=7)
        named = scores["model"].nunique() > 1 or not by_dataset
        lines = [fill(run.models[key[0]]["title"], ROW_LETTERS)] if named else []
        lines += [wrapped_title(key[1], run.titles, ROW_LETTERS)] if by_dataset else []
        axes[row][0].set_ylabel("\n".join(lines), fontsize=6)
    legend_above(figure, grammatical_handles())
    figure.supylabel("Density", fontsize=8)
    return figure


def density(ax: Axes, group: pd.DataFrame, metric: str) -> None:
    """Draw the density of a metric for each kind of string, or a note if the metric is unknown."""
    ax.set_yticks([])
    ax.tick_params(axis="x", labelsize=5)
    values = group[metric].dropna()
    if values.empty:
        ax.text(0.5, 0.5, "not defined", transform=ax.transAxes, ha="center", fontsize=6)
        ax.set_xticks([])
        return
    low, high = np.quantile(values, SHOWN)
    edges = list(np.linspace(low, high, HISTOGRAM_BINS))
    for flag, (colour, _) in GRAMMATICAL.items():
        chosen = group[group["grammatical"] == flag]
        look: dict[str, Any] = {"histtype": "stepfilled", "color": colour, "alpha": 0.45}
        ax.hist(chosen[metric], weights=chosen["weight"], bins=edges, density=True, **look)


def areas(separation: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 4b: area under the ROC curve of each metric, by data set and over all.

    Bars are 95% bootstrap intervals; dotted: the paper's highest area.
    """
    whole = separation[separation["phenomenon"] == ""]
    return metric_panels(whole, run, "auc", "Area under ROC curve", lines=(0.5, HIGHEST_AUC))


def accuracies(separation: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 8: share of pairs whose grammatical sentence scores higher, as in Figure 4b."""
    chosen = separation[(separation["phenomenon"] == "") & (separation["n_pairs"] > 0)]
    return metric_panels(chosen, run, "accuracy", "Accuracy on pairs", lines=(0.5, 0.8))


def metric_panels(
    rows: pd.DataFrame, run: Run, value: str, label: str, lines: tuple[float, float]
) -> Figure:
    """Return a figure with one panel per data set, metrics along x and one marker per model.

    Models are ordered by family and size.
    """
    datasets = list(dict.fromkeys(rows["dataset"]))
    names = palette.in_families(rows["model"], run.models)
    figure, axes = wrapped(
        len(datasets), columns=2, width=style.PAGE_INCHES / 2, height=2.0, sharey=True
    )
    shifts = 0.8 * ((np.arange(len(names)) + 0.5) / max(len(names), 1) - 0.5)
    for ax, dataset in zip(axes, datasets, strict=True):
        for name, shift in zip(names, shifts, strict=True):
            chosen = rows[(rows["dataset"] == dataset) & (rows["model"] == name)]
            found = chosen.set_index("metric").reindex(METRICS)
            ends = whiskers(found[value], found[f"{value}_low"], found[f"{value}_high"])
            ax.errorbar(
                np.arange(len(METRICS)) + shift, found[value], ends, markersize=3, linewidth=0.8,
                color=run.models[name]["colour"], fmt=run.models[name]["marker"],
            )  # fmt: skip
        ax.axhline(lines[0], color=palette.GREY, linewidth=0.8)
        ax.axhline(lines[1], color=palette.GREY, linewidth=0.8, linestyle=":")
        ax.set_xticks(range(len(METRICS)), [short for short, _ in METRICS.values()], rotation=60)
        ax.tick_params(axis="x", labelsize=6)
        ax.set_title(wrapped_title(dataset, run.titles), fontsize=7)
    name_axes(axes, "", label, columns=2)
    legend_above(figure, few_handles(names, run.models), columns=3)
    return figure


def curves(roc: pd.DataFrame, separation: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 6: ROC curves by model and data set, one line per metric with its area."""
    groups = roc[["model", "dataset"]].drop_duplicates()
    figure, axes = wrapped(len(groups), height=1.8)
    whole = separation[separation["phenomenon"] == ""].set_index(["model", "dataset", "metric"])
    for ax, row in zip(axes, groups.itertuples(), strict=True):
        of_panel = roc[(roc["model"] == row.model) & (roc["dataset"] == row.dataset)]
        for metric, (short, colour) in METRICS.items():
            line = of_panel[of_panel["metric"] == metric]
            if len(line):
                label = f"{short} {whole.loc[(row.model, row.dataset, metric), 'auc']:.2f}"
                x, y = line["false_positive_rate"], line["true_positive_rate"]
                ax.plot(x, y, color=colour, linewidth=0.9, label=label)
        ax.plot([0, 1], [0, 1], color=palette.GREY, linewidth=0.6)
        ax.set_title(panel_title(row, run, groups), fontsize=7)
        ax.legend(fontsize=4.5, loc="lower right", handlelength=1.0, labelspacing=0.2)
    name_axes(axes, "False positive rate", "True positive rate")
    return figure


def panel_title(row: Any, run: Run, rows: pd.DataFrame) -> str:
    """Return the title of a panel: the data set and, if there are several, the model."""
    title = wrapped_title(row.dataset, run.titles)
    several = rows["model"].nunique() > 1
    return f"{title}\n{fill(run.models[row.model]['title'], 26)}" if several else title


def grammatical_handles() -> list[Line2D]:
    """Return legend entries for grammatical and ungrammatical strings."""
    return [handle(label, colour, "s", "none") for colour, label in GRAMMATICAL.values()]
