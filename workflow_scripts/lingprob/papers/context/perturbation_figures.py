"""The figure of perturbed prefixes by the number of their sentences (beyond Figure 5)."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from lingprob.context.names import MATCHED, ORIGINAL
from lingprob.context.perturbations import TITLES
from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above
from lingprob.figures.panels import grid, in_percent, whiskers
from lingprob.papers.context.looks import number_of_pairs
from lingprob.papers.contract import Run, Tables

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
# Curves with a band, as in Figure 5.
WITH_BAND = (ORIGINAL, "all")
# What a perturbation is compared with: the filling of its marker, its place, what a legend says.
COMPARED = {
    "above_tokens": ("white", -0.15, "less the original after as many tokens"),
    "above_sentences": (palette.BLACK, 0.15, "less the original after as many sentences"),
}


def perturbations(tables: Tables, run: Run) -> Figure:
    """Draw changes in accuracy by number of sentences (above) and less the original's (below).

    Two rows a model, a column a kind of prefixes.

    Args:
        tables: `perturbations` alone is drawn.
        run: for the models' titles.
    """
    rows = tables["perturbations"]
    models = list(dict.fromkeys(rows["model"]))
    figure, axes = grid(
        2 * len(models), 2, width=2.6, height=2.3, margins=(1.4, 0.9), sharey="row"
    )  # fmt: skip
    for number, model in enumerate(models):
        for column, kind in enumerate(MATCHED):
            here = rows[(rows["model"] == model) & (rows["kind"] == kind)]
            above, below = axes[2 * number, column], axes[2 * number + 1, column]
            _curves(above, here)
            _differences(below, here[here["length"] == here["length"].max()])
            side = kind.removeprefix("matched_")
            n = number_of_pairs(here)
            above.set_title(f"{run.models[model]['title']}: {side} prefixes\n{n}")
        axes[2 * number, 0].set_ylabel(r"$\Delta$ accuracy (points)")
    legend_above(
        figure,
        [
            *(
                handle(PERTURBATION_TITLES[name], colour, "o", markersize=3)
                for name, colour in PERTURBATION_COLOURS.items()
            ),
            *(
                handle(what, palette.BLACK, "o", linestyle="none", markerfacecolor=filling)
                for filling, _, what in COMPARED.values()
            ),
        ],
        columns=4,
    )
    label_provenance(figure, rows["scale"])
    return figure


def _curves(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw changes by mean number of sentences, from no prefix on."""
    for name, colour in PERTURBATION_COLOURS.items():
        one = rows[rows["perturbation"] == name].sort_values("length")
        x = [0.0, *one["n_sentences"]]
        ax.plot(x, [0.0, *one["delta"]], "-o", color=colour, markersize=2.5)
        if name in WITH_BAND:
            low, high = ([0.0, *one[f"delta_{side}"]] for side in ("low", "high"))
            ax.fill_between(x, low, high, color=colour, alpha=0.13, linewidth=0)
    ax.axhline(0, color=palette.GREY, linewidth=0.7)
    ax.set_xlabel("Length of the prefix (sentences)")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.yaxis.set_major_formatter(in_percent())


def _differences(ax: Axes, rows: pd.DataFrame) -> None:
    """Draw what each perturbation's change exceeds the original's by, the most alike on top."""
    rows = rows[rows["perturbation"] != ORIGINAL].sort_values("similarity", kind="stable")
    for column, (filling, shift, _) in COMPARED.items():
        ends = whiskers(*(rows[column + end].to_numpy() for end in ("", "_low", "_high")))
        places = [place - shift for place in range(len(rows))]
        colours = [PERTURBATION_COLOURS[name] for name in rows["perturbation"]]
        for at, (value, place, colour) in enumerate(
            zip(rows[column], places, colours, strict=True)
        ):
            ax.errorbar(
                value, place, xerr=ends[:, [at]], color=colour, marker="o", elinewidth=0.8,
                markerfacecolor=filling if filling == "white" else colour,
            )  # fmt: skip
    names = zip(rows["perturbation"], rows["similarity"], strict=True)
    shown = [f"{PERTURBATION_TITLES[name]} ({alike:.2f})" for name, alike in names]
    ax.set_yticks(range(len(rows)), shown, fontsize=6)
    ax.axvline(0, color=palette.GREY, linewidth=0.7)
    ax.set_xlabel(f"Points above the original,\nat {rows['length'].max()} tokens")
    ax.xaxis.set_major_formatter(in_percent())
