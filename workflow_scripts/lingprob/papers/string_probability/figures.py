"""Figures 1b to 8 of the paper on string probability (Hu et al. 2026)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from lingprob.figures import style
from lingprob.figures.labels import Models
from lingprob.papers.string_probability.panels import (
    GRAMMATICAL,
    Titles,
    grammatical_handles,
    model_colours,
    model_handles,
    name_axes,
    panel_title,
    panels,
    short_title,
)
from lingprob.papers.string_probability.separation_figures import (
    accuracies,
    areas,
    by_phenomenon,
    curves,
    distributions,
)

POINTS_SHOWN = 2000


def draw_figures(
    tables: Mapping[str, pd.DataFrame],
    toy: pd.DataFrame,
    models: Models,
    titles: Titles,
    pooled: Sequence[str],
    scale: str,
) -> dict[str, Figure]:
    """Draw every figure, by name.

    Args:
        tables: `scores`, `correlations`, `separation` and `roc` of all models.
        toy: as `toy_surprisals` returns it.
        models: title, family and size by name.
        titles: of the data sets, by name.
        pooled: data sets that are taken together where a model has any of them.
        scale: of the run.
    """
    scores, correlations = tables["scores"], tables["correlations"]
    separation, roc = tables["separation"], tables["roc"]
    keys = separation[["model", "dataset"]].drop_duplicates()
    third = scores.merge(keys, on=["model", "dataset"])
    has_pooled = third["dataset"].isin(pooled).groupby(third["model"]).transform("any")
    together = third[third["dataset"].isin(pooled) | ~has_pooled]
    figures = {
        "figure_1b": toy_strings(toy, models),
        "figure_2a": pairs_by_prediction(scores, correlations, models, titles, 1),
        "figure_2b": correlation_by_bin(correlations, models, titles, 1),
        "figure_3a": pairs_by_prediction(scores, correlations, models, titles, 2),
        "figure_3b": correlation_by_bin(correlations, models, titles, 2),
        "figure_4a": distributions(together, models, titles, by_dataset=False),
        "figure_4b": areas(separation, models, titles),
        "figure_5": distributions(third, models, titles, by_dataset=True),
        "figure_6": curves(roc, separation, models, titles),
        "figure_8": accuracies(separation, models, titles),
        "phenomena": by_phenomenon(separation, models, titles),
    }
    rated = correlations[correlations["prediction"] == 2]
    sources = ["simulated"] if rated["simulated"].any() else []
    for name, figure in figures.items():
        style.label_provenance(figure, sources if name.startswith("figure_3") else [], [scale])
    return figures


def toy_surprisals(
    stimuli: pd.DataFrame, models: Sequence[str], scores: Sequence[pd.DataFrame]
) -> pd.DataFrame:
    """Return each toy string's surprisal (bits) by model: model, text, grammatical, surprisal.

    `scores` are `sentence_scores`; the first convention of each counts.
    """
    parts = [pd.DataFrame(columns=["model", "text", "grammatical", "surprisal"])]
    for model, table in zip(models, scores, strict=True):
        first = table[["bos", "unigrams"]].iloc[0]
        chosen = table[(table["bos"] == first["bos"]) & (table["unigrams"] == first["unigrams"])]
        joined = stimuli.merge(chosen, on="item_id")
        joined = joined.assign(model=model, surprisal=-joined["logprob"] / np.log(2))
        parts.append(joined[parts[0].columns])
    return pd.concat(parts[1:] or parts, ignore_index=True)


def toy_strings(toy: pd.DataFrame, models: Models) -> Figure:
    """Figure 1b: surprisal of the eight toy strings, a panel a model."""
    names = list(dict.fromkeys(toy["model"])) or [""]
    figure, axes = plt.subplots(
        1, len(names), squeeze=False, figsize=(max(3.6, 2.9 * len(names)), 2.4)
    )
    for ax, name in zip(axes[0], names, strict=True):
        strings = toy[toy["model"] == name].sort_values("surprisal", ascending=False)
        colours = [GRAMMATICAL[bool(flag)][0] for flag in strings["grammatical"]]
        stars = ["" if flag else "*" for flag in strings["grammatical"]]
        labels = [star + text for star, text in zip(stars, strings["text"], strict=True)]
        ax.barh(range(len(strings)), strings["surprisal"], color=colours, height=0.7)
        ax.set_yticks(range(len(strings)), labels)
        ax.grid(axis="y", visible=False)
        ax.set_title(models[name]["title"] if name else "no model with weights")
        ax.set_xlabel("Surprisal (bits)")
    figure.legend(handles=grammatical_handles(), loc="outside upper center", ncols=2)
    return figure


def pairs_by_prediction(
    scores: pd.DataFrame,
    correlations: pd.DataFrame,
    models: Models,
    titles: Titles,
    prediction: int,
) -> Figure:
    """Figures 2a and 3a: the pairs behind each correlation, a panel a model and data set.

    At most 2,000 pairs are drawn; r and its interval are of all of them.
    """
    overall = correlations[
        (correlations["prediction"] == prediction) & (correlations["subset"] == "overall")
    ]
    figure, axes = panels(len(overall), height=1.75)
    for ax, row in zip(axes, overall.itertuples(), strict=True):
        chosen = (scores["model"] == row.model) & (scores["dataset"] == row.dataset)
        x, y = pair_coordinates(scores[chosen], prediction)
        shown = np.random.default_rng(0).permutation(len(x))[:POINTS_SHOWN]
        ax.plot(
            x[shown], y[shown], ".", color=style.BLUE, alpha=0.25, markersize=2.5, rasterized=True
        )
        if prediction == 1 and len(x):
            ends = [min(x.min(), y.min()), max(x.max(), y.max())]
            ax.plot(ends, ends, color=style.GREY, linewidth=0.8)
        else:
            ax.axhline(0, color=style.GREY, linewidth=0.8)
            ax.axvline(0, color=style.GREY, linewidth=0.8)
        ax.set_title(panel_title(row, models, titles, overall), fontsize=7)
        ax.text(0.03, 0.97, r_text(row), transform=ax.transAxes, va="top", fontsize=6)
    labels = {
        1: ("log p, grammatical (nats)", "log p, ungrammatical (nats)"),
        2: ("Rating difference (z)", "log p difference (nats)"),
    }[prediction]
    name_axes(axes, *labels)
    return figure


def pair_coordinates(scores: pd.DataFrame, prediction: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what a prediction correlates, two (n_pairs,) arrays."""
    sides = {
        side: scores[scores["grammatical"] == side].set_index("pair_id") for side in (True, False)
    }
    logprobs = sides[True]["logprob"], sides[False]["logprob"].reindex(sides[True].index)
    if prediction == 1:
        return logprobs[0].to_numpy(), logprobs[1].to_numpy()
    rating = sides[True]["rating"] - sides[False]["rating"]
    return rating.to_numpy(), (logprobs[0] - logprobs[1]).reindex(rating.index).to_numpy()


def r_text(row: Any) -> str:
    """Say a correlation with its interval and number of pairs."""
    if pd.isna(row.r):
        return f"r undefined, n = {row.n:,}"
    return f"r = {row.r:.2f} [{row.r_low:.2f}, {row.r_high:.2f}]\nn = {row.n:,}"


def correlation_by_bin(
    correlations: pd.DataFrame, models: Models, titles: Titles, prediction: int
) -> Figure:
    """Figures 2b and 3b: r within bins of cosine distance, a panel a data set, a line a model.

    Bands are 95% bootstrap intervals; a bin in which nothing varies has no point.
    """
    bins = correlations[
        (correlations["prediction"] == prediction) & (correlations["subset"] == "bin")
    ]
    datasets = list(dict.fromkeys(bins["dataset"]))
    names = list(dict.fromkeys(bins["model"]))
    figure, axes = panels(len(datasets), height=1.7, sharey=True)
    colours = model_colours(names)
    for ax, dataset in zip(axes, datasets, strict=True):
        for name in names:
            line = bins[(bins["dataset"] == dataset) & (bins["model"] == name)]
            x = line["name"].astype(int)
            ax.plot(x, line["r"], marker="o", markersize=3, color=colours[name])
            ax.fill_between(
                x, line["r_low"], line["r_high"], color=colours[name], alpha=0.2, linewidth=0
            )
        if prediction == 2:  # of Prediction 1 all are far above 0
            ax.axhline(0, color=style.GREY, linewidth=0.8)
        ax.set_title(short_title(dataset, titles), fontsize=7)
        highest = bins["name"].astype(int).max()
        ax.set_xticks(sorted({1, (highest + 1) // 2, highest}))
    name_axes(axes, "Bin by cosine distance", "Pearson r")
    handles = model_handles(names, models)
    figure.legend(handles=handles, loc="outside upper center", ncols=3, fontsize=7)
    return figure
