"""Loss curves of training, and the perplexity part of Figure 2 of the paper on leakage."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above, wrapped_title
from lingprob.figures.panels import (
    grid,
    join_models,
    label_logarithmic,
    name_axes,
    plain_ticks,
    wrapped,
)
from lingprob.figures.style import draw_each
from lingprob.papers.run import Run, Tables
from lingprob.training.sizes import ALL_TEXTS, model_name

SMOOTHED_OVER = 20  # steps


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw the paper's figures, by name, of `perplexity` and of the `logs` of `read_logs`."""
    figures = draw_each(
        {
            "loss": lambda: loss_curves(tables["logs"], run),
            "figure_2_perplexity": lambda: perplexity_by_size(tables["perplexity"], run),
        }
    )
    for figure in figures.values():
        label_provenance(figure, [run.scale], note=run.note)
    return figures


def read_logs(paths: Iterable[str | Path]) -> pd.DataFrame:
    """Return the logs of trainings, each named after its size, with the column `size`."""
    logs = [pd.read_json(path, lines=True).assign(size=Path(path).stem) for path in paths]
    return pd.concat(logs, ignore_index=True)


def loss_curves(logs: pd.DataFrame, run: Run) -> Figure:
    """Draw each size's training loss by tokens, and the validation loss as points.

    `logs` has a row a step: size, tokens, loss and validation_loss (nats a token).
    """
    figure, ((ax,),) = grid(1, 1, width=3.35, height=2.8, margins=(1.0, 0.0))
    unit, unit_name = _unit(logs["tokens"].max())
    for size, log in logs.groupby("size", sort=False):
        colour = run.models[model_name(str(size), 0)]["colour"]
        tokens, loss = log["tokens"] / unit, log["loss"]
        ax.plot(tokens, loss, color=colour, alpha=0.25, linewidth=0.6)
        window = max(1, min(SMOOTHED_OVER, len(log) // 10))
        smooth = loss.rolling(window, center=True, min_periods=1).mean()
        ax.plot(tokens, smooth, color=colour, label=str(size).replace("-", " ").capitalize())
        held_out = log.dropna(subset=["validation_loss"])
        ax.plot(held_out["tokens"] / unit, held_out["validation_loss"], "o", color=colour,
                markerfacecolor="white", markersize=4)  # fmt: skip
    ax.plot([], [], "o", color=palette.GREY, markerfacecolor="white", label="validation")
    ax.set_xlabel(f"Tokens seen ({unit_name})")
    ax.set_ylabel("Loss (nats a token)")
    perplexity = ax.secondary_yaxis("right", functions=(np.exp, np.log))
    perplexity.set_ylabel("Perplexity")
    label_logarithmic(perplexity.yaxis, plain_ticks(*np.exp(ax.get_ylim())))
    ax.legend(fontsize=7)
    return figure


def perplexity_by_size(perplexity: pd.DataFrame, run: Run) -> Figure:
    """Draw perplexity by parameters before and after fine-tuning, a panel a corpus (Figure 2)."""
    corpora = list(perplexity["corpus"].unique())
    figure, axes = wrapped(
        len(corpora), columns=3, width=2.1, height=1.7, margins=(0.6, 0.9), sharex=True
    )
    unit, unit_name = _unit(perplexity["parameters"].max())
    perplexity = perplexity.assign(size_in_unit=perplexity["parameters"] / unit)
    perplexity = perplexity.sort_values(["fine_tuning_steps", "parameters"], kind="stable")
    for ax, corpus in zip(axes, corpora, strict=True):
        of_corpus = perplexity[perplexity["corpus"] == corpus]
        join_models(ax, of_corpus, "size_in_unit", "perplexity", run.models)
        ax.set_title("All texts" if corpus == ALL_TEXTS else wrapped_title(corpus, run.titles))
        ax.set_xscale("log")
        ax.set_yscale("log")
        label_logarithmic(ax.xaxis, sorted(of_corpus["size_in_unit"].unique()))
        label_logarithmic(ax.yaxis)
    name_axes(axes, f"Parameters ({unit_name})", "Perplexity (a token)", columns=3)
    by_steps = perplexity.drop_duplicates("fine_tuning_steps")
    handles = [
        handle(
            f"after {steps} fine-tuning steps" if steps else "before fine-tuning",
            run.models[model]["group_colour"],
            run.models[model]["marker"],
        )
        for model, steps in zip(by_steps["model"], by_steps["fine_tuning_steps"], strict=True)
    ]
    legend_above(figure, handles)
    return figure


def _unit(largest: float) -> tuple[float, str]:
    return (1e6, "millions") if largest >= 1e6 else (1e3, "thousands")
