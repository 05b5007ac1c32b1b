"""A ladder of models: quantities of a paper against how good and how large its models are.

Quality is bits a byte of sentences that every model scored, as acceptable ones: the same for all
tokenizers, and no lower bound of anything else. A run says in `options["ladder"]` which models are
steps of one training or orders of one n-gram model (`plan.Plan.ladder_facts`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from lingprob.figures.palette import Models, by_size
from lingprob.figures.panels import whiskers

Facts = Mapping[str, Mapping[str, Any]]
MODEL = {"kind": "model", "series": "", "ladder": False}
BITS_LABEL = "Bits a byte of {}"
SIZE_LABEL = "Parameters"


def facts_of(facts: Facts, model: str) -> Mapping[str, Any]:
    """Return what a model is one of several of; a paper's own models are each for itself."""
    return facts.get(model, {**MODEL, "series": model})


def of_models(
    table: pd.DataFrame, facts: Facts, kinds: Collection[str] = ("model",)
) -> pd.DataFrame:
    """Return the rows of models of these kinds: neither a step of a training nor, unless asked for,
    an order of n-grams."""
    kept = [facts_of(facts, name)["kind"] in kinds for name in table["model"]]
    return table[np.array(kept, dtype=bool)]


def without_ladder(table: pd.DataFrame, facts: Facts) -> pd.DataFrame:
    """Return the rows of the paper's models, less those that are of the ladder alone."""
    kept = [not facts_of(facts, name)["ladder"] for name in table["model"]]
    return table[np.array(kept, dtype=bool)]


def bits_a_byte(logprobs: pd.Series, texts: pd.Series) -> float:
    """Return bits a byte of sentences' UTF-8 text, from their log-probabilities (nats); NaN where
    the log-probabilities of some are missing.

    Args:
        logprobs: by item id, the first token counted.
        texts: by item id, those that count.
    """
    summed = logprobs.reindex(texts.index).sum(skipna=False)
    return float(-summed / np.log(2) / texts.str.encode("utf-8").str.len().sum())


def draw_against(
    ax: Axes,
    table: pd.DataFrame,
    x: str,
    y: str,
    models: Models,
    facts: Facts,
    *,
    hollow: bool = False,
) -> None:
    """Draw a quantity with its interval against another, a point a model, a line a series.

    Args:
        table: a row a model: `model`, `x`, `y` and, where there are intervals, y_low and y_high.
        hollow: markers without a filling: published values.
    """
    table = table.dropna(subset=[x, y]).set_index("model")
    ordered = table.loc[by_size(table.index, models)]
    series = [facts_of(facts, name)["series"] for name in ordered.index]
    for _, line in ordered.groupby(series, sort=False):
        if len(line) > 1:
            colour = models[line.index[-1]]["group_colour"]
            ax.plot(line[x], line[y], color=colour, linewidth=0.8, alpha=0.7, zorder=1)
    for name, row in ordered.iterrows():
        look = models[name]
        ends = [row.get(f"{y}_{end}", np.nan) for end in ("low", "high")]
        ax.errorbar(
            row[x], row[y], yerr=whiskers(row[y], *ends) if np.isfinite(ends).all() else None,
            color=look["colour"], marker=look["marker"], elinewidth=0.6, markersize=4,
            markerfacecolor="white" if hollow else look["colour"],
        )  # fmt: skip


def frame(ax: Axes, table: pd.DataFrame, y: str, margin: float = 0.12) -> None:
    """Limit an axis to the points of a table: intervals that reach farther are cut off."""
    values = table[y].dropna()
    if len(values):
        reach = max(float(np.ptp(values)), 0.1 * float(values.abs().max()), 1e-6)
        ends = [table.get(f"{y}_{end}", table[y]).fillna(table[y]) for end in ("low", "high")]
        low = np.maximum(ends[0].min(), values.min() - reach / 2)
        high = np.minimum(ends[1].max(), values.max() + reach / 2)
        ax.set_ylim(low - margin * reach, high + margin * reach)
