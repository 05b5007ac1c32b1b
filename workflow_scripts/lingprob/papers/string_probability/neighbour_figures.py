"""The best neighbours of ungrammatical sentences, beside their partners and the cosine distance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import handle, legend_above
from lingprob.figures.panels import grid
from lingprob.papers.contract import Run
from lingprob.papers.string_probability.neighbours import (
    SAME_LENGTH,
    best_neighbours,
    summarise_neighbours,
)

LOOKS = {
    "partner": ("The pair's grammatical sentence", palette.BLUE, "o"),
    "neighbour": ("Best neighbour", palette.ORANGE, "s"),
    "same_length": ("Best neighbour of the same length", palette.GREEN, "^"),
}
DOT: dict[str, Any] = {"markersize": 2.5, "alpha": 0.6, "linewidth": 0}


def neighbours(table: pd.DataFrame, run: Run) -> Figure:
    """A row a model and data set: log p, excess over the partner, and which is the best.

    Left: log p of a pair's grammatical sentence and of the best neighbours against that of its
    ungrammatical one. Middle: what the best neighbour of the same length exceeds the partner by,
    against the cosine distance. Right: shares with 95% bootstrap intervals over pairs.
    """
    groups = list(table.groupby(["model", "dataset"], sort=False))
    figure, axes = grid(len(groups), 3, width=2.35, height=2.1, margins=(0.4, 0.35))
    draws, seed = run.options["bootstrap"], run.options["seed"]
    for row, ((model, dataset), group) in zip(axes, groups, strict=True):
        found = summarise_neighbours(group, draws, seed)
        found = found.set_index(["among", "quantity"])[["value", "low", "high"]]
        draw_logprobs(row[0], group, found)
        draw_excess(row[1], best_neighbours(group, SAME_LENGTH), found)
        draw_shares(row[2], found)
        row[0].set_title(f"{run.titles[dataset]}\n{run.models[model]['title']}", fontsize=7)
    looks = [handle(label, colour, marker, "none") for label, colour, marker in LOOKS.values()]
    legend_above(figure, looks)
    return figure


def draw_logprobs(ax: Axes, group: pd.DataFrame, found: pd.DataFrame) -> None:
    """Draw log p of partners and neighbours against that of the ungrammatical sentences."""
    best = best_neighbours(group)
    same = best_neighbours(group, SAME_LENGTH)
    shown = {"partner": best["logprob_good"], "neighbour": best["logprob"]}
    shown["same_length"] = same["logprob"]
    correlations = {
        "partner": found.loc[("all edits", "r(bad, partner)"), "value"],
        "neighbour": found.loc[("all edits", "r(bad, neighbour)"), "value"],
        "same_length": found.loc[("same length", "r(bad, neighbour)"), "value"],
    }
    for at, (name, values) in enumerate(shown.items()):
        _, colour, marker = LOOKS[name]
        x = best["logprob_bad"] if name != "same_length" else same["logprob_bad"]
        ax.plot(x, values, marker, color=colour, **DOT)
        said = f"r = {correlations[name]:.3f}"
        ax.text(0.97, 0.04 + 0.09 * (2 - at), said, transform=ax.transAxes, color=colour,
                ha="right", fontsize=6)  # fmt: skip
    ends = [best["logprob_bad"].min(), best["logprob_bad"].max()]
    ax.plot(ends, ends, color=palette.GREY, linewidth=0.8)
    ax.set_xlabel("log p, ungrammatical (nats)", fontsize=7)
    ax.set_ylabel("log p (nats)", fontsize=7)


def draw_excess(ax: Axes, best: pd.DataFrame, found: pd.DataFrame) -> None:
    """Draw what neighbours exceed partners by, against the cosine distance of the pairs."""
    excess = best["logprob"] - best["logprob_good"]
    ax.plot(best["cosine_distance"], excess, LOOKS["same_length"][2],
            color=LOOKS["same_length"][1], **DOT)  # fmt: skip
    ax.axhline(0, color=palette.GREY, linewidth=0.8)
    r = found.loc[("same length", "r(excess, cosine)")]
    said = f"r = {r['value']:.2f} [{r['low']:.2f}, {r['high']:.2f}]\nn = {len(best)}"
    ax.text(0.97, 0.97, said, transform=ax.transAxes, ha="right", va="top", fontsize=6)
    ax.margins(y=0.25)  # room for what is said
    ax.set_xlabel("Cosine distance within the pair", fontsize=7)
    ax.set_ylabel("Neighbour over partner (nats)", fontsize=7)


def draw_shares(ax: Axes, found: pd.DataFrame) -> None:
    """Draw the shares of pairs whose partner was scored, and is the best neighbour."""
    bars = [
        ("among the neighbours", "all edits", "partner in reach", palette.GREY),
        ("best of the same length", "same length", "best is the partner", LOOKS["same_length"][1]),
        ("best of all", "all edits", "best is the partner", LOOKS["neighbour"][1]),
    ]
    for place, (_, among, quantity, colour) in enumerate(bars):
        value, low, high = found.loc[(among, quantity)]
        spread = np.array([[value - low], [high - value]]).clip(0)
        ax.barh(place, value, color=colour, height=0.6, alpha=0.7)
        ax.errorbar(value, place, xerr=spread, color=palette.BLACK, linewidth=0.8)
    ax.set_yticks(range(len(bars)), [label for label, *_ in bars], fontsize=6)
    ax.set_xlim(0, 1)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel("Share of pairs: the partner is ...", fontsize=7)
