"""Figures 5 and 9: perturbed prefixes."""

from __future__ import annotations

import pandas as pd
from matplotlib.figure import Figure

from lingprob.context.names import MATCHED, ORIGINAL, primary_dataset
from lingprob.context.perturbations import TITLES
from lingprob.figures import palette, style
from lingprob.figures.labels import name_point
from lingprob.figures.panels import grid, in_percent
from lingprob.papers.context.curves import (
    CURVES,
    DELTA,
    LENGTH,
    curve,
    finish,
    legend,
    models_of,
    pairs,
)
from lingprob.papers.context.matrix_figures import correlation
from lingprob.papers.run import Run

PERTURBATION_TITLES = {ORIGINAL: "Original", **TITLES}
PERTURBATION_COLOURS = dict(
    zip(
        PERTURBATION_TITLES,
        [
            palette.BLACK,
            palette.ORANGE,
            palette.SKY,
            palette.WINE,
            palette.GREEN,
            palette.BLUE,
            palette.OLIVE,
            palette.RED,
            palette.PURPLE,
        ],
        strict=True,
    )
)
# What curves are drawn by, and the label of its axis.
SIZES = {"prefix_tokens": LENGTH, "n_sentences": "Length of the prefix (sentences)"}
# Curves with a band.
WITH_BAND = (ORIGINAL, "all")


def perturbed(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Figure 5: change under each perturbation of the most responsive suites.

    Two rows per model: by the prefix's tokens, as in the paper, and by its sentences, because fewer
    perturbed sentences fit into as many tokens.
    """
    primary = primary_dataset([*run.titles])
    rows = accuracy[(accuracy["level"] == "all") & (accuracy["dataset"] == primary)]
    changed = rows[rows["perturbation"].isin(PERTURBATION_COLOURS)]
    models = models_of(changed)
    figure, axes = grid(2 * len(models), 2, **CURVES)
    for number, model in enumerate(models):
        for column, kind in enumerate(MATCHED):
            panels = dict(zip(SIZES, axes[2 * number : 2 * number + 2, column], strict=True))
            here = changed[(changed["model"] == model) & (changed["kind"] == kind)]
            for size, ax in panels.items():
                for name, colour in PERTURBATION_COLOURS.items():
                    one = here[here["perturbation"] == name]
                    curve(ax, one, "delta", colour, "-", interval=name in WITH_BAND, size=size)
                finish(ax, "" if column else DELTA)
                ax.set_xlabel(SIZES[size])
            side = kind.removeprefix("matched_")
            title = f"{run.models[model]['title']}: {side} prefixes{pairs(here)}"
            panels["prefix_tokens"].set_title(title)
    colours = PERTURBATION_COLOURS.items()
    legend(figure, {PERTURBATION_TITLES[name]: (colour, "-") for name, colour in colours})
    return figure


def perturbation_scatter(points: pd.DataFrame, correlations: pd.DataFrame, run: Run) -> Figure:
    """Figure 9: similarity of perturbed to original prefixes against the change in accuracy."""
    shown = points[points["analysis"] == "perturbations"]
    names = list(dict.fromkeys(shown["model"]))
    figure, axes = grid(len(names), 2, width=style.PAGE_INCHES, height=2.4, margins=(0.0, 0.6))
    for line, model in zip(axes, names, strict=True):
        for ax, side in zip(line, ("acceptable", "unacceptable"), strict=True):
            kind = f"matched_{side}"
            here = shown[(shown["model"] == model) & (shown["kind"] == kind)]
            colour = palette.GREEN if side == "acceptable" else palette.PURPLE
            ax.plot(here["x"], here["y"], "o", color=colour)
            for row in here.sort_values("x").itertuples():
                name_point(ax, PERTURBATION_TITLES[row.point], row.x, row.y, fontsize=5.5)
            rho = correlation(correlations, model, "perturbations", "y", f"delta, {kind}")
            ax.set_title(f"{run.models[model]['title']}: {side} prefixes\n{rho}")
            ax.set_xlabel("Token F₁ with the original prefix")
            ax.yaxis.set_major_formatter(in_percent())
            ax.margins(0.2, 0.4)
        line[0].set_ylabel("Mean Δ accuracy (points)")
    return figure
