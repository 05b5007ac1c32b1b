"""Figures 4 to 6 and 8 of Hu et al. (2026): do scores tell grammatical strings from others?"""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import palette, style
from lingprob.figures.labels import few_handles, handle, legend_above, model_handles, wrapped_title
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
ROW_LETTERS = 22  # of a line beside a row of densities
# No area exceeds this (§6.4).
HIGHEST_AUC = 0.75
# Beyond these quantiles a few long sentences would squeeze the rest.
SHOWN = (0.002, 0.998)
# Models whose markers stand beside each other in a narrow panel.
MOST_ABREAST = 6
POOL_TITLES = {
    "pair": "pair",
    "paradigm": "paradigm",
    "phenomenon": "phenom.",
    "dataset": "data set",
    "all": "all",
}
PUBLISHED_COLOURS = (palette.SKY, palette.ORANGE, palette.PURPLE, palette.YELLOW, palette.RED)


def distributions(scores: pd.DataFrame, run: Run, by_dataset: bool) -> Figure:
    """Draw Figures 4a and 5: densities of each metric for grammatical and ungrammatical strings.

    A row is a model over all the data sets that `scores` has of it, or a model and data set. A
    sample counts as much as the whole data set that it was drawn from.
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
    """Draw the density of a metric for either kind of string; an empty panel if unknown."""
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
        ax.hist(
            group.loc[group["grammatical"] == flag, metric],
            weights=group.loc[group["grammatical"] == flag, "weight"],
            bins=edges,
            density=True,
            histtype="stepfilled",
            color=colour,
            alpha=0.45,
        )


def areas(separation: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 4b: area under the ROC curve of each metric, by data set and over all.

    Bars are 95% bootstrap intervals; dotted: the highest that the paper found.
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

    Models stand by family and size; panels are twice as wide for more than MOST_ABREAST of them.
    """
    datasets = list(dict.fromkeys(rows["dataset"]))
    names = palette.in_families(rows["model"], run.models)
    columns = 4 if len(names) <= MOST_ABREAST else 2
    figure, axes = wrapped(
        len(datasets), columns=columns, width=style.PAGE_INCHES / columns, height=2.0, sharey=True
    )
    reach = 0.25 if columns == 4 else 0.38
    shifts = np.linspace(-reach, reach, len(names)) if len(names) > 1 else [0.0]
    for ax, dataset in zip(axes, datasets, strict=True):
        for name, shift in zip(names, shifts, strict=True):
            chosen = rows[(rows["dataset"] == dataset) & (rows["model"] == name)]
            found = chosen.set_index("metric").reindex(METRICS)
            ax.errorbar(
                np.arange(len(METRICS)) + shift,
                found[value],
                yerr=whiskers(found[value], found[f"{value}_low"], found[f"{value}_high"]),
                fmt=run.models[name]["marker"],
                color=run.models[name]["colour"],
                markersize=3,
                linewidth=0.8,
            )
        ax.axhline(lines[0], color=palette.GREY, linewidth=0.8)
        ax.axhline(lines[1], color=palette.GREY, linewidth=0.8, linestyle=":")
        ax.set_xticks(range(len(METRICS)), [short for short, _ in METRICS.values()], rotation=60)
        ax.tick_params(axis="x", labelsize=6)
        ax.set_title(wrapped_title(dataset, run.titles), fontsize=7)
    name_axes(axes, "", label, columns)
    legend_above(figure, few_handles(names, run.models), columns=3)
    return figure


def curves(roc: pd.DataFrame, separation: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 6: ROC curves by model and data set, one line per metric with its area."""
    groups = roc[["model", "dataset"]].drop_duplicates()
    figure, axes = wrapped(len(groups), height=1.8)
    whole = separation[separation["phenomenon"] == ""].set_index(["model", "dataset", "metric"])
    for ax, row in zip(axes, groups.itertuples(), strict=True):
        for metric, (short, colour) in METRICS.items():
            key = (row.model, row.dataset, metric)
            line = roc[
                (roc["model"] == row.model)
                & (roc["dataset"] == row.dataset)
                & (roc["metric"] == metric)
            ]
            if len(line):
                label = f"{short} {whole.loc[key, 'auc']:.2f}"
                ax.plot(
                    line["false_positive_rate"],
                    line["true_positive_rate"],
                    color=colour,
                    linewidth=0.9,
                    label=label,
                )
        ax.plot([0, 1], [0, 1], color=palette.GREY, linewidth=0.6)
        ax.set_title(panel_title(row, run, groups), fontsize=7)
        ax.legend(fontsize=4.5, loc="lower right", handlelength=1.0, labelspacing=0.2)
    name_axes(axes, "False positive rate", "True positive rate")
    return figure


def by_phenomenon(separation: pd.DataFrame, run: Run) -> Figure:
    """Draw accuracy on pairs against area under the ROC curve of log p, by phenomenon."""
    rows = separation[
        (separation["phenomenon"] != "")
        & (separation["metric"] == "logprob")
        & separation["accuracy"].notna()
    ]
    datasets, names = (list(dict.fromkeys(rows[key])) for key in ("dataset", "model"))
    figure, axes = wrapped(len(datasets), height=1.8)
    for ax, dataset in zip(axes, datasets, strict=True):
        for name in names:
            chosen = rows[(rows["dataset"] == dataset) & (rows["model"] == name)]
            colour, marker = run.models[name]["colour"], run.models[name]["marker"]
            x, y = chosen["auc"], chosen["accuracy"]
            ax.plot(x, y, marker, color=colour, alpha=0.6, markersize=3)
        ax.plot([0, 1], [0, 1], color=palette.GREY, linewidth=0.6)
        ax.set(xlim=(0, 1.02), ylim=(0, 1.02))
        ax.set_title(wrapped_title(dataset, run.titles), fontsize=7)
    name_axes(axes, "Area under ROC curve", "Accuracy on pairs")
    legend_above(figure, model_handles(names, run.models), columns=3)
    return figure


def panel_title(row: Any, run: Run, rows: pd.DataFrame) -> str:
    """Return the title of a panel: the data set and, if there are several, the model."""
    title = wrapped_title(row.dataset, run.titles)
    several = rows["model"].nunique() > 1
    return f"{title}\n{fill(run.models[row.model]['title'], 26)}" if several else title


def grammatical_handles() -> list[Line2D]:
    """Return legend entries for grammatical and ungrammatical strings."""
    return [handle(label, colour, "s", "none") for colour, label in GRAMMATICAL.values()]


def separation_by_pool(pools: pd.DataFrame, run: Run) -> Figure:
    """Draw the area under the ROC curve of log p as pools widen from pairs, by data set.

    Bars are 95% bootstrap intervals; lines: Φ(gap / spread), what two normal distributions give.
    """
    rows = pools[(pools["subset"] == "overall") & (pools["pool"] != "gain")]
    datasets, names = (list(dict.fromkeys(rows[key])) for key in ("dataset", "model"))
    figure, axes = wrapped(len(datasets), height=1.9, sharey=True)
    present = [pool for pool in POOL_TITLES if pool in set(rows["pool"])]
    places = {pool: place for place, pool in enumerate(present)}
    for ax, dataset in zip(axes, datasets, strict=True):
        for name in names:
            line = rows[(rows["dataset"] == dataset) & (rows["model"] == name)]
            look = run.models[name]
            x = line["pool"].map(places)
            bars = whiskers(line["auc"], line["auc_low"], line["auc_high"])
            ax.errorbar(
                x, line["auc"], yerr=bars, fmt=look["marker"], color=look["colour"], markersize=3.5
            )
            ax.plot(x, line["predicted"], "-", color=look["colour"], linewidth=0.8, alpha=0.7)
        ax.axhline(0.5, color=palette.GREY, linewidth=0.8)
        ax.set_xticks(list(places.values()), [POOL_TITLES[pool] for pool in present], rotation=60)
        ax.tick_params(axis="x", labelsize=6)
        ax.set_title(wrapped_title(dataset, run.titles), fontsize=7)
    name_axes(axes, "Compared within", "Area under ROC curve")
    handles = [*model_handles(names, run.models), handle("Φ(gap / spread)", palette.GREY)]
    legend_above(figure, handles, columns=4)
    return figure


def paradigm_accuracies(paradigms: pd.DataFrame, run: Run) -> Figure:
    """Draw accuracy of log p by paradigm, in order of ours, with published models and people.

    A panel a data set of several paradigms; bars are Wilson's 95% intervals of the model by whose
    accuracy the paradigms are ordered, or the bars of several would hide all points.
    """
    several = paradigms.groupby("dataset")["paradigm"].transform("nunique") > 1
    groups = list(paradigms[several].groupby("dataset", sort=False))
    figure, axes = wrapped(len(groups), columns=2, width=3.4, height=2.1)
    systems = list(dict.fromkeys(paradigms.loc[paradigms["source"] == "published", "system"]))
    colours = dict(zip(systems, PUBLISHED_COLOURS * len(systems), strict=False))
    ours = {model["title"]: model for model in run.models.values()}
    for ax, (dataset, group) in zip(axes, groups, strict=True):
        accuracy_by_paradigm(ax, group, ours, colours)
        ax.set_title(wrapped_title(str(dataset), run.titles, 50), fontsize=7)
    name_axes(axes, "Paradigm, by our accuracy", "Accuracy", columns=2)
    shown = [name for name, look in run.models.items() if look["title"] in set(paradigms["system"])]
    published = [handle(name, colours[name], "o", "none", markersize=3) for name in systems]
    legend_above(figure, [*model_handles(shown, run.models), *published])
    return figure


def accuracy_by_paradigm(
    ax: Axes, group: pd.DataFrame, ours: dict[str, dict], colours: dict[str, str]
) -> None:
    """Draw one data set's paradigms in the order of our first model's accuracy.

    A model may have scores of ours and published ones.
    """
    own = group[group["source"] == "ours"]
    first = own["system"].iloc[0]
    order = own[own["system"] == first].sort_values("accuracy")["paradigm"]
    places = pd.Series(range(len(order)), index=order)
    for (system, source), rows in group.groupby(["system", "source"], sort=False):
        x = rows["paradigm"].map(places)
        if source == "published" or system not in ours:
            ax.plot(x, rows["accuracy"], "o", color=colours[str(system)], markersize=2, alpha=0.8)
            continue
        look = ours[str(system)]
        bars = whiskers(rows["accuracy"], rows["accuracy_low"], rows["accuracy_high"])
        ax.errorbar(
            x, rows["accuracy"], yerr=bars if system == first else None, fmt=look["marker"],
            color=look["colour"], markersize=2.5, linewidth=0.5,
        )  # fmt: skip
    ax.axhline(0.5, color=palette.GREY, linewidth=0.8)
    ax.set_xticks([])
    ax.set_ylim(-0.02, 1.02)


def paradigm_correlations(correlations: pd.DataFrame, run: Run) -> Figure:
    """Draw Prediction 1a by paradigm: r within each, in order, one panel per data set.

    Bands are 95% bootstrap intervals; the thin line is r over the whole data set.
    """
    chosen = correlations[correlations["prediction"] == 1]
    rows = chosen[(chosen["subset"] == "paradigm")].dropna(subset="r")
    datasets, names = (list(dict.fromkeys(rows[key])) for key in ("dataset", "model"))
    figure, axes = wrapped(len(datasets), height=1.7, sharey=True)
    whole = chosen[chosen["subset"] == "overall"].set_index(["dataset", "model"])["r"]
    for ax, dataset in zip(axes, datasets, strict=True):
        for name in names:
            line = rows[(rows["dataset"] == dataset) & (rows["model"] == name)].sort_values("r")
            colour = run.models[name]["colour"]
            x = np.arange(1, len(line) + 1)
            ax.plot(x, line["r"], ".", color=colour, markersize=3)
            ax.fill_between(x, line["r_low"], line["r_high"], color=colour, alpha=0.2, linewidth=0)
            if len(line):
                ax.axhline(whole[dataset, name], color=colour, linewidth=0.7)
        ax.set_title(wrapped_title(dataset, run.titles), fontsize=7)
    name_axes(axes, "Paradigm, by r", "Pearson r")
    legend_above(figure, model_handles(names, run.models), columns=3)
    return figure
