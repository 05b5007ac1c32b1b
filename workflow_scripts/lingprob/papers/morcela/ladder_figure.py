"""MORCELA's r, gamma and beta against how good and how large the models are (§4.3, §6.3)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import group_handles, legend_above, published_handle
from lingprob.figures.panels import grid
from lingprob.figures.trends import BITS_LABEL, SIZE_LABEL, bits_a_byte, draw_against, frame
from lingprob.papers.contract import Run, Tables
from lingprob.papers.ladder import of_models, with_quality
from lingprob.papers.morcela.looks import PARAMETER_LABELS, R_LABEL
from lingprob.regression.rating_scale import middle

ROWS = {"r_cv": R_LABEL, **PARAMETER_LABELS}
FIXED = {"gamma": 0.0, "beta": 1.0}  # SLOR's


def quality_of(tables: Tables, run: Run, dataset: str) -> pd.Series:
    """Return bits a byte of a data set's sentences that are rated above the mean, by model.

    Under the first of a model's BOS policies that scores a sentence's first token, whatever it fits
    with: all bytes are then paid for. Of models that have a quality alone (`Plan.ladder_facts`).
    """
    stimuli = tables["stimuli"]
    rated = stimuli[(stimuli["dataset"] == dataset) & stimuli["rating"].notna()]
    rated = rated[rated["rating"] > middle(rated["rating"].to_numpy())]
    texts = rated.set_index("item_id")["text"]
    scoring = {
        name for name, one in run.options["bos_policies"].items() if one["first_token"] == "scored"
    }
    scores = with_quality(tables["sentence_scores"], run.options["ladder"])
    scores = scores[scores["bos"].isin(scoring)]
    found = {}
    for model, rows in scores.groupby("model", sort=False):
        first = rows[
            (rows["bos"] == rows["bos"].iloc[0]) & (rows["unigrams"] == rows["unigrams"].iloc[0])
        ]
        found[model] = bits_a_byte(first.set_index("item_id")["logprob"], texts)
    return pd.Series(found, dtype=float)


def ladder(fits: pd.DataFrame, published: pd.DataFrame, tables: Tables, run: Run) -> Figure:
    """R, optimal gamma and beta against bits a byte (left) and parameters (right).

    Lines join the steps of a training and the orders of n-grams, whose sizes are none; intervals
    are 95% of the bootstrap, cut where they reach far beyond the points. Hollow: published.
    """
    facts, dataset = run.options["ladder"], str(fits["dataset"].iloc[0])
    ours = fits[fits["linking_function"] == "morcela"]
    theirs = published[published["linking_function"] == "morcela"]
    theirs = theirs.assign(parameters=theirs["model"].map(sizes(theirs, run)))
    quality = quality_of(tables, run, dataset)
    ours = ours.assign(
        bits=ours["model"].map(quality), parameters=ours["model"].map(sizes(ours, run))
    )
    figure, axes = grid(
        len(ROWS), 2, width=style.PAGE_INCHES / 2, height=1.9, margins=(0.0, 0.8), sharey="row",
        sharex="col",
    )  # fmt: skip
    final = of_models(ours, facts)
    series = {name: fact["series"] for name, fact in facts.items()}
    for row, (quantity, label) in zip(axes, ROWS.items(), strict=True):
        draw_against(row[0], ours, "bits", quantity, run.models, series)
        draw_against(row[1], final, "parameters", quantity, run.models, series)
        draw_against(row[1], theirs, "parameters", quantity, run.models, series, hollow=True)
        frame(row[0], pd.concat([ours, theirs]), quantity)
        row[0].set_ylabel(label)
        for ax in row if quantity in FIXED else []:
            ax.axhline(FIXED[quantity], color=palette.GREY, linewidth=0.8, linestyle=":")
    axes[-1, 0].set_xlabel(BITS_LABEL.format("sentences rated acceptable"))
    axes[-1, 1].set_xlabel(SIZE_LABEL)
    axes[0, 1].set_xscale("log")
    shown = pd.concat([ours.dropna(subset="bits"), final.dropna(subset="parameters"), theirs])
    handles = group_handles(shown["model"], run.models, "none")
    legend_above(figure, handles + ([] if theirs.empty else [published_handle()]), columns=4)
    return figure


def sizes(fits: pd.DataFrame, run: Run) -> dict[str, float]:
    """Return the parameters of the models of a table of fits, NaN where unknown."""
    return {name: run.models[name].get("parameters") or np.nan for name in fits["model"].unique()}
