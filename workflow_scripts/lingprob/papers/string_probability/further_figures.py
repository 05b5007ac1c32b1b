"""What the paper argues with and does not draw: distances, spreads, pools, paradigms."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import handle, legend_above, model_handles, wrapped_title
from lingprob.figures.panels import name_axes, whiskers, wrapped
from lingprob.papers.contract import Run
from lingprob.papers.string_probability.separation_figures import panel_title

# The quantiles between which §5.2 looks for the drop of Prediction 2b.
SPREAD_OF_DISTANCES = (0.70, 0.95)
HISTOGRAM_BINS = 40
LOOKS = {
    "r": ("r", palette.BLACK, "-"),
    "r_common_spread": ("r at a common spread", palette.BLUE, "--"),
    "r_without_length": ("r without length", palette.ORANGE, ":"),
}
POOL_TITLES = {
    "pair": "pair",
    "paradigm": "paradigm",
    "phenomenon": "phenom.",
    "dataset": "data set",
    "all": "all",
}
PUBLISHED_COLOURS = (palette.SKY, palette.ORANGE, palette.PURPLE, palette.YELLOW, palette.RED)


def distances(scores: pd.DataFrame, correlations: pd.DataFrame, run: Run) -> Figure:
    """Distribution of the cosine distance within pairs, a panel a data set, with edges of bins.

    Grey: between the 70th and the 95th quantile, whose width §5.2 explains differences by.
    """
    pairs = scores.dropna(subset="cosine_distance").drop_duplicates(["dataset", "pair_id"])
    groups = list(pairs.groupby("dataset", sort=False)["cosine_distance"])
    figure, axes = wrapped(len(groups), height=1.7)
    for ax, (dataset, values) in zip(axes, groups, strict=True):
        low, high = np.quantile(values, SPREAD_OF_DISTANCES)
        ax.axvspan(low, high, color=palette.GREY, alpha=0.25, linewidth=0)
        shown = np.linspace(0, np.quantile(values, 0.995), HISTOGRAM_BINS)
        ax.hist(values, bins=list(shown), color=palette.BLUE, alpha=0.6)
        for edge in bin_edges(correlations, str(dataset))[1:-1]:
            ax.axvline(edge, color=palette.BLACK, linewidth=0.4)
        said = f"n = {len(values):,}\n70% to 95%: {high - low:.3f}"
        ax.text(0.97, 0.97, said, transform=ax.transAxes, ha="right", va="top", fontsize=6)
        ax.set_title(wrapped_title(str(dataset), run.titles), fontsize=7)
    name_axes(axes, "Cosine distance", "Pairs")
    return figure


def bin_edges(correlations: pd.DataFrame, dataset: str) -> list[float]:
    """Return the edges of a data set's bins by cosine distance, the lowest first."""
    chosen = correlations[(correlations["dataset"] == dataset) & (correlations["subset"] == "bin")]
    bins = chosen.drop_duplicates("name").assign(number=lambda table: table["name"].astype(int))
    if bins.empty:
        return []
    bins = bins.sort_values("number")
    return [float(bins["cosine_low"].iloc[0]), *bins["cosine_high"].astype(float)]


def deconfounded(confounds: pd.DataFrame, run: Run) -> Figure:
    """r in each bin as it is, at a common spread and without length, a panel a model and data set.

    Bands are 95% bootstrap intervals. Below each title: the change of r and of r at a common spread
    from the first to the last bin.
    """
    groups = list(confounds.groupby(["prediction", "model", "dataset"], sort=False))
    figure, axes = wrapped(len(groups), height=1.9)
    for ax, ((prediction, _, _), group) in zip(axes, groups, strict=True):
        lines = group[group["subset"] == "bin"]
        for quantity, (_, colour, linestyle) in LOOKS.items():
            line = lines[lines["quantity"] == quantity]
            x = line["name"].astype(int)
            ax.plot(x, line["value"], linestyle, color=colour, linewidth=1.1)
            bounds = line["value_low"], line["value_high"]
            ax.fill_between(x, *bounds, color=colour, alpha=0.12, linewidth=0)
        changes = group[group["subset"] == "change"].set_index("quantity")
        said = [
            f"{short} {changes.loc[key, 'value']:+.3f} "
            f"[{changes.loc[key, 'value_low']:+.3f}, {changes.loc[key, 'value_high']:+.3f}]"
            for key, short in (("r", "r"), ("r_common_spread", "common"))
        ]
        ax.text(0.03, 0.03, "\n".join(said), transform=ax.transAxes, fontsize=4.8)
        title = panel_title(next(group.itertuples()), run, confounds)
        ax.set_title(f"{title}\nPrediction {prediction}b", fontsize=6.5)
    name_axes(axes, "Bin by cosine distance", "Pearson r")
    legend_above(
        figure, [handle(label, colour, "", line) for label, colour, line in LOOKS.values()]
    )
    return figure


def separation_by_pool(pools: pd.DataFrame, run: Run) -> Figure:
    """Area under the ROC curve of log p as pools widen from pairs, a panel a data set.

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
    """Accuracy of log p by paradigm, in order of ours, with published models and people.

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
    """Prediction 1a by paradigm: r within each, in order, a panel a data set and a line a model.

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
