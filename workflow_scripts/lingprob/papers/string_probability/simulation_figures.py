"""The predictions as simulated from the theory, with one model's pairs laid over them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.stats import norm

from lingprob.figures import palette
from lingprob.figures.labels import handle, legend_above, wrapped_title
from lingprob.figures.panels import wrapped
from lingprob.papers.contract import Run, Tables
from lingprob.papers.string_probability.further_figures import pair_coordinates

# Pairs that a correlation of real ones rests on at least.
FEWEST = 30
MOST_EDITS = 8
SMALLEST = 1e-9
CURVE_COLOURS = (palette.SKY, palette.BLUE, palette.INDIGO)
REAL_LOOKS = tuple(
    zip(
        (
            palette.RED,
            palette.ORANGE,
            palette.WINE,
            palette.PURPLE,
            palette.OLIVE,
            palette.BROWN,
            palette.GREEN,
            palette.BLACK,
        ),
        "osD^vPX*",
        strict=True,
    )
)
Looks = Mapping[str, tuple[str, str]]
Points = Iterator[tuple[str, pd.DataFrame]]
STATISTICS = {
    "r_pairs": ("r, log p of pairs (1a)", palette.BLUE, "-"),
    "r_ratings": ("r, ratings (2a)", palette.ORANGE, "--"),
    "accuracy": ("AUC within pairs", palette.GREEN, "-."),
    "auc": ("AUC of unpaired (3)", palette.RED, ":"),
}
BREACHES = {
    "assumption_3": ("Slope of log odds of an error on log P(m)", "3: errors follow the message"),
    "assumption_4": ("log P(neighbour) - log P(m)", "4: a message next to *s"),
    "assumption_5": ("log P(far message) - mean", "5: a message 3 errors from *s"),
    "assumption_6": ("SD of log P(neighbour) / P(m)", "6: unlike neighbours of *s"),
}


def predictions_simulated(tables: Tables, run: Run) -> Figure:
    """Predictions 1a, 1b, 2b and 3 over the theory's parameters, with our pairs over the curves.

    Lines and bars: mean over simulated worlds with its 95% interval; dashed grey: closed form.
    Filled markers: the first model's real data. Intervals are in the tables of the same names.
    """
    first = tables["scores"]["model"].iloc[0]
    real = {
        name: tables[name][tables[name]["model"] == first]
        for name in ("scores", "correlations", "pools", "separation")
    }
    figure, axes = wrapped(6, columns=3, width=2.3, height=2.15, margins=(0.0, 1.0))
    datasets = dict.fromkeys([*real["scores"]["dataset"], *real["pools"]["dataset"]])
    looks = dict(zip(datasets, cycle(REAL_LOOKS), strict=False))
    correlation_panels(axes[:3], tables["simulations"], real, tables["edits"], looks)
    separation_panels(axes[3:], tables["simulations"], real, looks)
    known = [
        handle(wrapped_title(name, run.titles, 60), colour, marker, "none")
        for name, (colour, marker) in looks.items()
    ]
    legend_above(figure, [handle("closed form", palette.GREY, "", "--"), *known], columns=4)
    return figure


def correlation_panels(
    axes: Sequence[Axes],
    simulations: pd.DataFrame,
    real: Mapping[str, pd.DataFrame],
    edits: pd.DataFrame,
    looks: Looks,
) -> None:
    """Draw r of Prediction 1 over the spread of messages and, with r of 2, over the errors."""
    curves(axes[0], simulations, "spread", "r_pairs", "SD of log weights {:g}")
    overlay(axes[0], spreads(real), looks)
    label(axes[0], "1a: messages vary", "SD of log P(m); of log p (nats)", "r, log p of pairs")
    for ax, number, statistic in ((axes[1], 1, "r_pairs"), (axes[2], 2, "r_ratings")):
        curves(ax, simulations, "distance", statistic, "V = {:g}")
        overlay(ax, by_edits(real["scores"], edits, number), looks, line="-")
        what = "r, log p of pairs" if number == 1 else "r, ratings and log p"
        label(ax, f"{number}b: errors between the two", "Errors d; words edited", what)


def separation_panels(
    axes: Sequence[Axes],
    simulations: pd.DataFrame,
    real: Mapping[str, pd.DataFrame],
    looks: Looks,
) -> None:
    """Draw the area over spread by gap and over the spread of lengths, and the gap over e."""
    race(axes[0], simulations)
    overlay(axes[0], pooled_areas(real["pools"]), looks)
    label(axes[0], "3: gap against spread", "Spread / gap", "AUC")
    curves(axes[1], simulations, "length", "auc", "{:g} nats a word", x=length_sd)
    curves(axes[1], simulations, "length", "auc_mean_logprob", "", x=length_sd, line=":")
    overlay(axes[1], length_areas(real, "logprob"), looks)
    overlay(axes[1], length_areas(real, "mean_logprob"), looks, hollow=True)
    axes[1].plot([], [], ":", color=palette.BLACK, label="of mean log p")
    label(axes[1], "3: lengths vary", "SD of length (words; tokens)", "AUC of unpaired")
    curves(axes[2], simulations, "error", "gap", "V = {:g}")
    for dataset, rows in pooled_areas(real["pools"]):
        axes[2].axhline(float(rows["gap"].iloc[0]), color=looks[dataset][0], linewidth=0.7)
    axes[2].set_xscale("log")
    label(axes[2], "Gap of grammaticality", "e (lines: real gaps)", "log p less *log p (nats)")


def overlay(
    ax: Axes, points: Points, looks: Looks, *, line: str = "none", hollow: bool = False
) -> None:
    """Draw real data sets' points in their looks."""
    for dataset, rows in points:
        colour, marker = looks[dataset]
        ax.plot(
            rows["x"],
            rows["y"],
            marker,
            color=colour,
            markersize=3.5,
            linestyle=line,
            linewidth=0.6,
            markerfacecolor="white" if hollow else colour,
            zorder=5,
        )


def curves(
    ax: Axes,
    simulations: pd.DataFrame,
    sweep: str,
    statistic: str,
    title: str,
    *,
    x: Callable[[pd.Series], pd.Series] = lambda values: values,
    line: str = "-",
) -> None:
    """Draw a statistic over a sweep, a line a curve, with its closed form where one is known."""
    rows = simulations[(simulations["sweep"] == sweep) & (simulations["statistic"] == statistic)]
    for colour, (curve, part) in zip(CURVE_COLOURS, rows.groupby("curve"), strict=False):
        at = x(part["value"])
        ax.plot(at, part["estimate"], line, color=colour, linewidth=1.1,
                label=title.format(curve) if title else None)  # fmt: skip
        bounds = part["estimate_low"], part["estimate_high"]
        ax.fill_between(at, *bounds, color=colour, alpha=0.2, linewidth=0)
        ax.plot(at, part["closed_form"], "--", color=palette.GREY, linewidth=0.7)


def length_sd(half_range: pd.Series) -> pd.Series:
    """Return the standard deviation of lengths that go so far below and above a middle one."""
    return np.sqrt(half_range * (half_range + 1) / 3)


def race(ax: Axes, simulations: pd.DataFrame) -> None:
    """Draw the area over the spread of a difference by the gap: simulated, and Φ(gap / spread)."""
    wide = simulations.pivot_table(
        index=["sweep", "curve", "value"], columns="statistic", values="estimate"
    )
    wide = wide[wide["gap"] > 0]
    ratio = np.linspace(0.1, 5, 100)
    ax.plot(wide["spread_of_difference"] / wide["gap"], wide["auc"], ".", color=palette.SKY,
            markersize=3, label="simulated")  # fmt: skip
    ax.plot(ratio, norm.cdf(1 / ratio), "--", color=palette.GREY, linewidth=0.8)
    ax.set_xlim(0, 5)


def label(ax: Axes, title: str, x_label: str, y_label: str) -> None:
    """Put titles, and a small legend of the panel's curves."""
    ax.set_title(title, fontsize=7)
    ax.set_xlabel(x_label, fontsize=6.5)
    ax.set_ylabel(y_label, fontsize=6.5)
    ax.tick_params(labelsize=6)
    ax.legend(fontsize=5, handlelength=1.3, labelspacing=0.2, borderpad=0.1, loc="best")


def spreads(real: Mapping[str, pd.DataFrame]) -> Points:
    """Yield a data set's standard deviation of log p over grammatical sentences, and r of 1a."""
    chosen = real["correlations"]
    chosen = chosen[(chosen["prediction"] == 1) & (chosen["subset"] == "overall")]
    for row in chosen.itertuples():
        pairs = pair_coordinates(of(real["scores"], row.dataset), 1)
        yield row.dataset, pd.DataFrame({"x": [pairs["x"].std()], "y": [row.r]})


def by_edits(scores: pd.DataFrame, edits: pd.DataFrame, prediction: int) -> Points:
    """Yield r of a data set's pairs by the number of words that an edit changes."""
    for dataset, group in scores.groupby("dataset", sort=False):
        pairs = pair_coordinates(group[group["pair_id"].notna()], prediction).dropna()
        words = edits[edits["dataset"] == dataset].set_index("pair_id")["levenshtein_words"]
        by_words = pairs.groupby(words.reindex(pairs.index))
        found = [
            (number, part["x"].corr(part["y"]))
            for number, part in by_words
            if len(part) >= FEWEST and number <= MOST_EDITS
        ]
        if found:
            yield str(dataset), pd.DataFrame(found, columns=["x", "y"])


def pooled_areas(pools: pd.DataFrame) -> Points:
    """Yield the areas of a data set's pools over spread by gap, both measured, and the gap."""
    rows = pools[(pools["subset"] == "overall") & (pools["pool"] != "gain") & (pools["gap"] > 0)]
    for dataset, part in rows.groupby("dataset", sort=False):
        ratio = part["spread"] / part["gap"]
        yield str(dataset), pd.DataFrame({"x": ratio, "y": part["auc"], "gap": part["gap"]})


def length_areas(real: Mapping[str, pd.DataFrame], metric: str) -> Points:
    """Yield a data set's area of one metric over the standard deviation of its lengths."""
    rows = real["separation"]
    rows = rows[(rows["phenomenon"] == "") & (rows["metric"] == metric)].dropna(subset="auc")
    for row in rows.itertuples():
        spread = of(real["scores"], row.dataset)["n_tokens"].std()  # NaN of several put together
        yield row.dataset, pd.DataFrame({"x": [spread], "y": [row.auc]})


def of(scores: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """Return one data set's rows."""
    return scores[scores["dataset"] == dataset]


def assumptions_broken(simulations: pd.DataFrame) -> Figure:
    """What happens to the predictions as Assumptions 3 to 6 are broken, a panel each.

    Bands: 95% interval of the mean over simulated worlds. Grey: where the assumption is broken.
    """
    figure, axes = wrapped(len(BREACHES), columns=2, width=3.2, height=1.9)
    for ax, (sweep, (x_label, title)) in zip(axes, BREACHES.items(), strict=True):
        rows = simulations[simulations["sweep"] == sweep].sort_values("value")
        for statistic, (_, colour, line) in STATISTICS.items():
            part = rows[rows["statistic"] == statistic]
            ax.plot(part["value"], part["estimate"], line, color=colour)
            bounds = part["estimate_low"], part["estimate_high"]
            ax.fill_between(part["value"], *bounds, color=colour, alpha=0.15, linewidth=0)
        shade_breach(ax, rows[rows["statistic"] == sweep])
        ax.axhline(0, color=palette.GREY, linewidth=0.8)
        ax.set_ylim(min(-0.05, ax.get_ylim()[0]), 1.05)
        ax.set_title(title, fontsize=7)
        ax.set_xlabel(x_label, fontsize=7)
    axes[0].invert_xaxis()
    legend_above(
        figure, [handle(title, colour, "", line) for title, colour, line in STATISTICS.values()]
    )
    return figure


def shade_breach(ax: Axes, rows: pd.DataFrame) -> None:
    """Shade from where an assumption's part of its bound crosses 1, between points on a line."""
    x, part = rows["value"].to_numpy(), rows["estimate"].clip(lower=SMALLEST).to_numpy()
    broken = part > 1
    if broken.all() or not broken.any():
        return
    at = int(np.flatnonzero(broken[1:] != broken[:-1])[0])
    near, far = np.log(part[at : at + 2])
    border = x[at] - near / (far - near) * (x[at + 1] - x[at])
    ends = ax.get_xlim()
    ax.axvspan(border, ends[0 if broken[0] else 1], color=palette.GREY, alpha=0.15, linewidth=0)
    ax.set_xlim(*ends)
