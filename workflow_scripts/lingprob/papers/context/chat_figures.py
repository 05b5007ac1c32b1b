"""The figure of chats: accuracy by method and context, and disagreement with plain text."""

from __future__ import annotations

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above
from lingprob.figures.panels import grid, in_percent, whiskers
from lingprob.papers.context.looks import number_of_pairs
from lingprob.papers.contract import Run, Tables

CONTEXTS = ("none", "acceptable", "mixed", "unacceptable")
METHODS = {
    "text": ("probability, plain text", palette.BLACK, "o"),
    "turns": ("probability, as a chat's turns", palette.GREEN, "s"),
    "labels": ("asked if acceptable, after labelled examples", palette.ORANGE, "^"),
    "choice": ("asked which is better", palette.PURPLE, "D"),
}
PANELS = {"accuracy": "Accuracy (%)", "disagreement": "Judged otherwise\nthan by plain text (%)"}


def chats(tables: Tables, run: Run) -> Figure:
    """Draw accuracy (left) and disagreement (right) by context; a row a model, a curve a method.

    Args:
        tables: `chats` alone is drawn.
        run: for the models' titles.
    """
    rows = tables["chats"]
    models = list(dict.fromkeys(rows["model"]))
    figure, axes = grid(
        len(models), 2, width=2.8, height=2.1, margins=(0.6, 1.0), sharex=True, sharey="col"
    )
    for line, model in zip(axes, models, strict=True):
        here = rows[rows["model"] == model]
        for ax, (column, name) in zip(line, PANELS.items(), strict=True):
            for number, method in enumerate(METHODS):
                if method != "text" or column == "accuracy":
                    _points(ax, here[here["method"] == method], column, method, number)
            ax.set_ylabel(name)
            ax.set_xticks(range(len(CONTEXTS)), CONTEXTS, fontsize=6.5)
            ax.set_xlabel(f"Context ({here['n_sentences'].max()} sentences)")
            ax.yaxis.set_major_formatter(in_percent())
        line[0].axhline(0.5, color=palette.GREY, linewidth=0.7, linestyle=":")
        n = number_of_pairs(here)
        line[0].set_title(f"{run.models[model]['title']}, {n}")
    handles = [handle(name, colour, marker) for name, colour, marker in METHODS.values()]
    legend_above(figure, handles, columns=2)
    label_provenance(figure, rows["scale"])
    return figure


def _points(ax: Axes, rows: pd.DataFrame, column: str, method: str, number: int) -> None:
    _, colour, marker = METHODS[method]
    rows = rows.set_index("context").reindex(CONTEXTS)
    ends = whiskers(*(rows[column + end].to_numpy() for end in ("", "_low", "_high")))
    places = [place + 0.1 * (number - 1.5) for place in range(len(CONTEXTS))]
    ax.errorbar(
        places, rows[column], yerr=ends, color=colour, marker=marker, linewidth=0.7,
        elinewidth=0.8, capsize=1.5,
    )  # fmt: skip
