"""Figures 1b to 8 of the paper on string probability (Hu et al. 2026)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import few_handles, label_provenance, legend_above, wrapped_title
from lingprob.figures.panels import grid, name_axes, wrapped
from lingprob.figures.style import draw_each
from lingprob.papers.contract import Run, Tables
from lingprob.papers.string_probability.data import pairs_of, variables
from lingprob.papers.string_probability.further_figures import (
    bin_edges,
    deconfounded,
    distances,
    paradigm_accuracies,
    paradigm_correlations,
    separation_by_pool,
)
from lingprob.papers.string_probability.separation_figures import (
    GRAMMATICAL,
    accuracies,
    areas,
    by_phenomenon,
    curves,
    distributions,
    grammatical_handles,
    panel_title,
)
from lingprob.papers.string_probability.toy_strings import toy_surprisals, with_panels
from lingprob.papers.string_probability.trend_figures import trends

POINTS_SHOWN = 2000
MOST_BANDS = 6


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw every figure, by name.

    Args:
        tables: `scores`, `correlations`, `separation` and `roc` of all models, `toy_stimuli` and,
            where a model has weights, their `sentence_scores` as `toy_scores`; `confounds` and
            `pools`, and `paradigms` as `paradigm_accuracies` makes it.
        run: `options["pooled"]` names the data sets that are taken together where a model has any,
            `options["panels"]` the models that have panels, `options["absent"]` what the paper has
            and this run has not; `trend_figures` takes further options.
    """
    scores, own, correlations = (
        with_panels(tables[name], run) for name in ("scores", "separation", "correlations")
    )
    every_r, separation, roc = tables["correlations"], tables["separation"], tables["roc"]
    keys = separation[["model", "dataset"]].drop_duplicates()
    third = scores.merge(keys, on=["model", "dataset"])
    pooled = third["dataset"].isin(run.options["pooled"])
    together = third[pooled | ~pooled.groupby(third["model"]).transform("any")]
    toy = toy_surprisals(tables)
    paradigms, confounds, pools = (tables[name] for name in ("paradigms", "confounds", "pools"))
    makers: dict[str, Callable[[], Figure]] = {
        "figure_1b": lambda: toy_strings(toy, run),
        "figure_2a": lambda: pairs_by_prediction(scores, correlations, run, 1),
        "figure_2b": lambda: correlation_by_bin(every_r, run, 1),
        "figure_3a": lambda: pairs_by_prediction(scores, correlations, run, 2),
        "figure_3b": lambda: correlation_by_bin(every_r, run, 2),
        "figure_4a": lambda: distributions(together, run, by_dataset=False),
        "figure_4b": lambda: areas(separation, run),
        "figure_5": lambda: distributions(third, run, by_dataset=True),
        "figure_6": lambda: curves(roc, own, run),
        "figure_8": lambda: accuracies(separation, run),
        "phenomena": lambda: by_phenomenon(own, run),
        "paradigms": lambda: paradigm_accuracies(paradigms, run),
        "paradigm_correlations": lambda: paradigm_correlations(correlations, run),
        "distances": lambda: distances(scores, correlations, run),
        "deconfounded": lambda: deconfounded(confounds, run),
        "pools": lambda: separation_by_pool(pools, run),
    }
    if "stimuli" in tables:
        makers["quality"] = lambda: trends(tables, run, "bits")
        makers["sizes"] = lambda: trends(tables, run, "size")
    # The models of a figure, if they are not those of `scores`.
    shown = {
        "figure_1b": toy, "figure_2b": every_r, "figure_3b": every_r, "figure_4b": separation,
        "figure_8": separation, "quality": separation, "sizes": separation,
        "distances": scores[:0], "deconfounded": confounds, "pools": pools,
    }  # fmt: skip
    figures = draw_each(makers)
    second = correlations[correlations["prediction"] == 2]
    sources = ["simulated"] if second["simulated"].any() else []
    for name, figure in figures.items():
        rated = bool(sources) and (name.startswith("figure_3") or name == "deconfounded")
        # Simulated ratings are said alone, in large type.
        said = [] if rated else notes(shown.get(name, scores)["model"], run)
        label_provenance(figure, [run.scale], sources if rated else [], note=" ".join(said))
    return figures


def notes(models: Iterable[str], run: Run) -> list[str]:
    """Return what a reader must know of these models, each said once, and what is absent."""
    shown = [run.models[name].get("note") for name in dict.fromkeys(models)]
    absent = run.options.get("absent", [])
    missing = [f"Absent, without a model or file here: {', '.join(absent)}."] if absent else []
    return [*dict.fromkeys(note for note in shown if note), *missing]


def toy_strings(toy: pd.DataFrame, run: Run) -> Figure:
    """Figure 1b: surprisal of the eight toy strings, a panel a model."""
    names = list(dict.fromkeys(toy["model"])) or [""]
    figure, axes = grid(1, len(names), width=2.9, height=2.8, margins=(0.0, 0.0), narrowest=3.6)
    for ax, name in zip(axes[0], names, strict=True):
        strings = toy[toy["model"] == name].sort_values("surprisal", ascending=False)
        colours = [GRAMMATICAL[bool(flag)][0] for flag in strings["grammatical"]]
        stars = ["" if flag else "*" for flag in strings["grammatical"]]
        labels = [star + text for star, text in zip(stars, strings["text"], strict=True)]
        ax.barh(range(len(strings)), strings["surprisal"], color=colours, height=0.7)
        ax.set_yticks(range(len(strings)), labels, fontsize=7)
        ax.grid(axis="y", visible=False)
        ax.set_title(run.models[name]["title"] if name else "no model with weights")
        ax.set_xlabel("Surprisal (bits)")
    legend_above(figure, grammatical_handles())
    return figure


def label_edges(ax: Axes, edges: list[float]) -> None:
    """Mark every edge of the bins 1 to n on an axis of bins, and name each third."""
    places = [place + 0.5 for place in range(len(edges))]
    ax.set_xticks(places[::3], [f"{edge:.2g}" for edge in edges[::3]])
    ax.tick_params(axis="x", labelsize=6)
    ax.set_xticks(places, minor=True)


def pairs_by_prediction(
    scores: pd.DataFrame, correlations: pd.DataFrame, run: Run, prediction: int
) -> Figure:
    """Figures 2a and 3a: the pairs behind each correlation, a panel a model and data set.

    At most 2,000 pairs are drawn; r and its interval are of all of them.
    """
    overall = correlations[
        (correlations["prediction"] == prediction) & (correlations["subset"] == "overall")
    ]
    figure, axes = wrapped(len(overall), height=1.75)
    for ax, row in zip(axes, overall.itertuples(), strict=True):
        chosen = (scores["model"] == row.model) & (scores["dataset"] == row.dataset)
        pairs = variables(pairs_of(scores[chosen]), prediction)
        x, y = pairs["x"].to_numpy(), pairs["y"].to_numpy()
        shown = np.random.default_rng(0).permutation(len(x))[:POINTS_SHOWN]
        ax.plot(
            x[shown], y[shown], ".", color=palette.BLUE, alpha=0.25, markersize=2.5, rasterized=True
        )
        if prediction == 1 and len(x):
            ends = [min(x.min(), y.min()), max(x.max(), y.max())]
            ax.plot(ends, ends, color=palette.GREY, linewidth=0.8)
        else:
            ax.axhline(0, color=palette.GREY, linewidth=0.8)
            ax.axvline(0, color=palette.GREY, linewidth=0.8)
        ax.set_title(panel_title(row, run, overall), fontsize=7)
        ax.text(0.03, 0.97, r_text(row), transform=ax.transAxes, va="top", fontsize=6)
    ratings = scores[scores["dataset"].isin(overall["dataset"])].groupby("dataset")["rating"]
    unit = " (z)" if (ratings.min() < 0).all() else ""  # of one's own, they may be means of 1 to 7
    labels = {
        1: ("log p, grammatical (nats)", "log p, ungrammatical (nats)"),
        2: (f"Rating difference{unit}", "log p difference (nats)"),
    }[prediction]
    name_axes(axes, *labels)
    return figure


def r_text(row: Any) -> str:
    """Say a correlation with its interval and number of pairs."""
    if pd.isna(row.r):
        return f"r undefined, n = {row.n:,}"
    return f"r = {row.r:.2f} [{row.r_low:.2f}, {row.r_high:.2f}]\nn = {row.n:,}"


def correlation_by_bin(correlations: pd.DataFrame, run: Run, prediction: int) -> Figure:
    """Figures 2b and 3b: r within bins of cosine distance, a panel a data set, a line a model.

    Bands are 95% bootstrap intervals, drawn for MOST_BANDS models at most; a bin in which nothing
    varies has no point.
    """
    bins = correlations[
        (correlations["prediction"] == prediction) & (correlations["subset"] == "bin")
    ]
    datasets = list(dict.fromkeys(bins["dataset"]))
    names = palette.in_families(bins["model"], run.models)
    # A legend of several models and the notes below want more than two panels' width.
    figure, axes = wrapped(len(datasets), height=1.7, sharey=True, narrowest=5.0)
    for ax, dataset in zip(axes, datasets, strict=True):
        for name in names:
            line = bins[(bins["dataset"] == dataset) & (bins["model"] == name)]
            x = line["name"].astype(int)
            colour, marker = run.models[name]["colour"], run.models[name]["marker"]
            ax.plot(x, line["r"], marker=marker, markersize=3, color=colour)
            if len(names) <= MOST_BANDS:
                ends = line["r_low"], line["r_high"]
                ax.fill_between(x, *ends, color=colour, alpha=0.2, linewidth=0)
        if prediction == 2:  # of Prediction 1 all are far above 0
            ax.axhline(0, color=palette.GREY, linewidth=0.8)
        ax.set_title(wrapped_title(dataset, run.titles), fontsize=7)
        label_edges(ax, bin_edges(bins, dataset))
    name_axes(axes, "Cosine distance, bins", "Pearson r")
    legend_above(figure, few_handles(names, run.models), columns=3)
    return figure
