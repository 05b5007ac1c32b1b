"""Loss curves of training, and the perplexity part of Figure 2 of the paper on leakage."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import cycle
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from lingprob.figures import style
from lingprob.training.sizes import ALL_TEXTS

SIZE_COLOURS = (style.SKY, style.BLUE, style.BLACK, style.PURPLE, style.RED)
# Steps of fine-tuning as the paper draws them: none, few, many.
STEP_COLOURS = (style.ORANGE, style.GREEN, style.PURPLE, style.SKY)
STEP_MARKERS = ("o", "s", "D", "^")
SMOOTHED_OVER = 20  # steps


def read_logs(paths: Mapping[str, str | Path]) -> dict[str, pd.DataFrame]:
    """Read the JSON-lines log of each size."""
    return {size: pd.read_json(path, lines=True) for size, path in paths.items()}


def loss_curves(logs: Mapping[str, pd.DataFrame], note: str, scale: str) -> Figure:
    """Draw each size's training loss by tokens, and the validation loss as points.

    Args:
        logs: a row a step, with tokens, loss and validation_loss (nats a token), by size.
        note: what the models were trained on.
        scale: of the run.
    """
    figure, ax = plt.subplots(figsize=(style.COLUMN_INCHES + 1.0, 2.8))
    unit, unit_name = _unit(max(log["tokens"].max() for log in logs.values()))
    for (size, log), colour in zip(logs.items(), cycle(SIZE_COLOURS), strict=False):
        tokens, loss = log["tokens"] / unit, log["loss"]
        ax.plot(tokens, loss, color=colour, alpha=0.25, linewidth=0.6)
        window = max(1, min(SMOOTHED_OVER, len(log) // 10))
        smooth = loss.rolling(window, center=True, min_periods=1).mean()
        ax.plot(tokens, smooth, color=colour, label=size.replace("-", " ").capitalize())
        held_out = log.dropna(subset=["validation_loss"])
        ax.plot(held_out["tokens"] / unit, held_out["validation_loss"], "o", color=colour,
                markerfacecolor="white", markersize=4)  # fmt: skip
    ax.plot([], [], "o", color=style.GREY, markerfacecolor="white", label="validation")
    ax.set_xlabel(f"Tokens seen ({unit_name})")
    ax.set_ylabel("Loss (nats a token)")
    perplexity = ax.secondary_yaxis("right", functions=(np.exp, np.log))
    perplexity.set_ylabel("Perplexity")
    low, high = (math.exp(limit) for limit in ax.get_ylim())
    _label_plainly(perplexity.yaxis, low, high)
    ax.legend(fontsize=7)
    _footer(figure, note, [scale])
    return figure


def perplexity_by_size(perplexity: pd.DataFrame, titles: Mapping[str, str], note: str) -> Figure:
    """Draw perplexity by parameters before and after fine-tuning, a panel a corpus (Figure 2).

    Args:
        perplexity: a `perplexity` table.
        titles: of the corpora, by name.
        note: what the models were trained on.
    """
    corpora = list(perplexity["corpus"].unique())
    columns = min(3, len(corpora))
    rows = math.ceil(len(corpora) / columns)
    figure, grid = plt.subplots(
        rows, columns, squeeze=False, sharex=True,
        figsize=(max(style.COLUMN_INCHES, 0.6 + 2.1 * columns), 0.9 + 1.7 * rows),
    )  # fmt: skip
    unit, unit_name = _unit(perplexity["parameters"].max())
    steps = sorted(perplexity["fine_tuning_steps"].unique())
    for ax in grid.flat[len(corpora) :]:
        ax.axis("off")
    for ax, corpus in zip(grid.flat, corpora, strict=False):
        of_corpus = perplexity[perplexity["corpus"] == corpus]
        for number, step in enumerate(steps):
            line = of_corpus[of_corpus["fine_tuning_steps"] == step].sort_values("parameters")
            ax.plot(
                line["parameters"] / unit, line["perplexity"],
                color=STEP_COLOURS[number % len(STEP_COLOURS)],
                marker=STEP_MARKERS[number % len(STEP_MARKERS)],
                label=f"after {step} fine-tuning steps" if step else "before fine-tuning",
            )  # fmt: skip
        ax.set_title("All texts" if corpus == ALL_TEXTS else titles.get(corpus, corpus))
        ax.set_xscale("log")
        ax.set_yscale("log")
        _label(ax.xaxis, sorted(of_corpus["parameters"].unique() / unit))
        _label_plainly(ax.yaxis, *ax.get_ylim())
    handles, labels = grid[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(steps), fontsize=7)
    figure.supylabel("Perplexity (a token)", fontsize=8)
    _footer(figure, f"Parameters ({unit_name})      {note}", perplexity["scale"])
    return figure


def _label_plainly(axis: Axis, low: float, high: float) -> None:
    """Put ticks with plain numbers on a logarithmic axis: 1, 2, 5, 10 and so on, 4 at least."""
    for leading in ((1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9), np.arange(1, 10, 0.2)):
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)))
        ticks = [n * 10.0**power for power in powers for n in leading]
        ticks = [tick for tick in ticks if low <= tick <= high]
        if len(ticks) >= 4:
            break
    _label(axis, ticks)


def _label(axis: Axis, ticks: list[float]) -> None:
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(
        FuncFormatter(lambda value, _: f"{value:,.3g}" if value < 1000 else f"{value:,.0f}")
    )
    axis.set_minor_locator(NullLocator())


def _unit(largest: float) -> tuple[float, str]:
    return (1e6, "millions") if largest >= 1e6 else (1e3, "thousands")


def _footer(figure: Figure, text: str, scales: Iterable[str]) -> None:
    figure.supxlabel(f"{text}      scale: {'/'.join(sorted(set(scales)))}", fontsize=7)
