"""Predictions 1 to 3 against how good and how large the models are."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import group_handles, legend_above, wrapped_title
from lingprob.figures.panels import wrapped
from lingprob.figures.trends import (
    BITS_LABEL,
    SIZE_LABEL,
    bits_a_byte,
    complete,
    draw_against,
    frame,
)
from lingprob.papers.contract import Run, Tables

COLUMNS = 4
# Values of a model that tells nothing apart.
NOTHING_TOLD = {"auc": 0.5, "accuracy": 0.5, "r": 0.0}


def trends(tables: Tables, run: Run, x: str) -> Figure:
    """Draw r of Predictions 1 and 2, area under the ROC curve and accuracy of log p, by data set.

    Against bits a byte of the data set's grammatical sentences (`x` "bits") or parameters ("size").
    Lines join the states of one training, and the orders of n-grams, which have no size. Intervals
    are 95% of the bootstrap.

    `run.options` has the `series` of models, and the names of those that read from left to right
    here (`causal`): imported scores and pseudo-log-likelihoods are no bits of a text.
    """
    series = run.options["series"]
    points = points_of(tables)
    if x == "bits":
        points = points[points["model"].isin(run.options["causal"])]
        points = points.merge(quality_of(tables), on=["model", "dataset"])
    else:
        points = complete(points, series)
        size = {name: look.get("parameters") or np.nan for name, look in run.models.items()}
        points = points.assign(size=points["model"].map(size))
    points = points.dropna(subset=[x, "value"])
    panels = list(points.groupby(["label", "dataset"], sort=False))
    figure, axes = wrapped(len(panels), columns=COLUMNS, height=1.6)
    for place, (ax, ((label, dataset), panel)) in enumerate(zip(axes, panels, strict=True)):
        draw_against(ax, panel, x, "value", run.models, series)
        frame(ax, panel, "value")
        ax.axhline(NOTHING_TOLD[panel["quantity"].iloc[0]], color=palette.GREY, linewidth=0.8)
        ax.set_title(wrapped_title(str(dataset), run.titles, 21), fontsize=7)
        if place % COLUMNS == 0 or panels[place - 1][0][0] != label:
            ax.set_ylabel(str(label), fontsize=7)
        if place + COLUMNS >= len(panels):
            label_x = BITS_LABEL.format("its\ngrammatical sentences") if x == "bits" else SIZE_LABEL
            ax.set_xlabel(label_x, fontsize=7)
        if x == "size":
            ax.set_xscale("log")
    legend_above(figure, group_handles(points["model"], run.models, "none"), columns=4)
    return figure


def points_of(tables: Tables) -> pd.DataFrame:
    """Return one row per model, data set and quantity: label, value, value_low and value_high."""
    overall = tables["correlations"]
    overall = overall[overall["subset"] == "overall"]
    parts = [
        _named(overall[overall["prediction"] == number], "r", f"r of Prediction {number}")
        for number in (1, 2)
    ]
    separation = tables["separation"]
    whole = separation[(separation["phenomenon"] == "") & (separation["metric"] == "logprob")]
    whole = whole[whole["dataset"].isin(tables["scores"]["dataset"])]
    parts.append(_named(whole, "auc", "Area under ROC\ncurve of log p"))
    parts.append(_named(whole[whole["n_pairs"] > 0], "accuracy", "Accuracy on pairs"))
    return pd.concat(parts, ignore_index=True)


def _named(table: pd.DataFrame, quantity: str, label: str) -> pd.DataFrame:
    ends = {f"{quantity}{end}": f"value{end}" for end in ("", "_low", "_high")}
    found = table[["model", "dataset", *ends]].rename(columns=ends)
    return found.assign(label=label, quantity=quantity)


def quality_of(tables: Tables) -> pd.DataFrame:
    """Return bits a byte of the grammatical sentences of each data set, by model: column `bits`."""
    texts = {
        dataset: of_set.set_index("item_id")["text"]
        for dataset, of_set in tables["stimuli"].groupby("dataset", sort=False)
    }
    scores = tables["scores"]
    rows = []
    for (model, dataset), of_set in scores[scores["grammatical"]].groupby(
        ["model", "dataset"], sort=False
    ):
        logprobs = of_set.set_index("item_id")["logprob"]
        found = bits_a_byte(logprobs, texts[dataset].reindex(logprobs.index))
        rows.append({"model": model, "dataset": dataset, "bits": found})
    return pd.DataFrame(rows, columns=["model", "dataset", "bits"])
