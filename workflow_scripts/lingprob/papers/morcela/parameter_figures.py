"""Draw Figures 4 to 6 of MORCELA and its trends: parameters, and slopes on frequency."""

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from lingprob.figures import palette, style
from lingprob.figures.labels import (
    dataset_label,
    group_handles,
    handle,
    legend_above,
    name_point,
    published_handle,
    short_title,
    wrapped_title,
)
from lingprob.figures.palette import Models
from lingprob.figures.panels import (
    BITS_LABEL,
    SIZE_LABEL,
    bits_a_byte,
    complete,
    draw_models,
    frame,
    grid,
    whiskers,
)
from lingprob.papers.run import Run, Tables

Fit = Mapping[Any, Any]  # one row of `linking_functions`
LABELS = {"r_cv": "Pearson r with ratings", "gamma": "Optimal γ (nats)", "beta": "Optimal β"}
# Name, colour and marker of each linking function.
STYLES = {
    "logprob": ("Log-probability", palette.GREY, "v"),
    "mean_logprob": ("Mean log-probability", palette.SKY, "^"),
    "slor": ("SLOR", palette.ORANGE, "s"),
    "morcela_gamma_0": ("MORCELA (γ = 0)", palette.PURPLE, "P"),
    "morcela_beta_1": ("MORCELA (β = 1)", palette.GREEN, "D"),
    "morcela": ("MORCELA", palette.BLUE, "o"),
}
FIXED = {"gamma": 0.0, "beta": 1.0}  # SLOR's values


def parameters_by_correlation(
    fits: pd.DataFrame, published: pd.DataFrame, run: Run, linking_functions: list[str]
) -> Figure:
    """Draw Figures 4 and 6: optimal gamma (top) and beta (bottom) against r.

    Each data set has two rows, and each linking function one column. Points of this run have 95%
    bootstrap intervals. Published points (of MORCELA) are hollow and joined in order of model size.
    Dotted: the value that SLOR fixes.
    """
    fixed = {"morcela_beta_1": "beta", "morcela_gamma_0": "gamma"}
    free = {
        parameter: [name for name in linking_functions if fixed.get(name) != parameter]
        for parameter in ("gamma", "beta")
    }
    models, datasets = run.models, list(dict.fromkeys(fits["dataset"]))
    drawn = fits[["gamma", "beta"]].notna().any(axis=1)
    fits = fits[drawn & fits["linking_function"].isin(linking_functions)]
    columns = len(free["gamma"])
    figure, axes = grid(
        2 * len(datasets), columns, width=1.8, height=1.8, margins=(style.COLUMN_INCHES - 1.8, 0.8),
        narrowest=4.2, sharex=True, sharey="row",
    )  # fmt: skip
    rows = [(dataset, *item) for dataset in datasets for item in free.items()]
    for row, (dataset, parameter, names) in enumerate(rows):
        for ax, linking_function in zip(axes[row], names, strict=True):
            chosen = f"linking_function == {linking_function!r} and dataset == {dataset!r}"
            ours, theirs = fits.query(chosen), published.query(chosen)
            _plot_parameter(ax, ours, parameter, models)
            theirs = theirs.dropna(subset=[parameter]).set_index("model", drop=False)
            theirs = theirs.loc[palette.by_size(theirs.index, models)]
            draw_models(ax, theirs, "r_cv", parameter, models, hollow=True)
            _name_ends(ax, theirs[~theirs["model"].isin(ours["model"])], "r_cv", parameter, models)
            ax.axhline(FIXED[parameter], color=palette.GREY, linewidth=0.8, linestyle=":")
            ax.set_title(STYLES[linking_function][0])
            ax.margins(0.15)
        label = dataset_label(LABELS[parameter], dataset, datasets, run.titles)
        axes[row, 0].set_ylabel(label)
    for ax in axes[-1]:
        ax.set_xlabel(LABELS["r_cv"])
    legend_above(figure, _legend(fits, published, models), columns=4)
    return figure


def frequency_slopes(
    fits: pd.DataFrame, slopes: pd.DataFrame, bins: pd.DataFrame, run: Run
) -> Figure:
    """Draw Figure 5: slopes of token on unigram log-probability against r and beta, and bins.

    Intervals are 95%: for slopes 1.96 standard errors over documents, for beta and r bootstrap
    intervals. The left panel shows mean token log-probability by bin of unigram log-probability,
    for fully trained models after the first start token in `slopes`. Hollow: other start tokens.
    """
    models = run.models
    figure, (axes,) = grid(1, 3, width=style.PAGE_INCHES / 3, height=2.6, margins=(0.0, 0.4))
    morcela = fits[fits["linking_function"] == "morcela"].merge(
        slopes[["model", "start_token", "slope", "slope_std_error", "intercept"]], on="model"
    )
    reach = 1.96 * morcela["slope_std_error"]
    morcela["slope_low"], morcela["slope_high"] = morcela["slope"] - reach, morcela["slope"] + reach
    first = ~morcela.duplicated("model")
    for fit in complete(morcela[first], models).to_dict("records"):
        of_fit = (bins["model"] == fit["model"]) & (bins["start_token"] == fit["start_token"])
        _plot_bins(axes[0], bins[of_fit & (bins["n_tokens"] > 1)], fit, models)
    for ax, quantity in zip(axes[1:], ("r_cv", "beta"), strict=True):
        ax.set_xlabel("Slope of token on unigram\nlog-probability")
        ax.set_ylabel(LABELS[quantity])
        _plot_parameter(ax, morcela[first], quantity, models, x="slope")
        for fit in morcela[~first].to_dict("records"):
            plot_fit(ax, fit, "slope", quantity, models, markerfacecolor="white")
    axes[0].set_xlabel("Unigram log-probability (nats)")
    axes[0].set_ylabel("Token log-probability (nats)")
    corpora = [wrapped_title(corpus, run.titles) for corpus in dict.fromkeys(slopes["corpus"])]
    axes[0].set_title(" / ".join(corpora))
    handles = group_handles(morcela["model"], models, "none")
    if not first.all():
        look = {"markerfacecolor": "white"}
        handles.append(handle("after a start token", palette.BLACK, "o", "none", **look))
    legend_above(figure, handles, columns=3)
    return figure


def _plot_bins(ax: Axes, within: pd.DataFrame, fit: Fit, models: Models) -> None:
    """Plot a model's mean token log-probability by bin, and its regression line over all tokens."""
    x, look = within["mean_unigram_logprob"], models[fit["model"]]
    ax.errorbar(
        x, within["mean_logprob"], color=look["colour"], marker=look["marker"], markersize=2.5,
        linewidth=0.8,
    )  # fmt: skip
    line = fit["intercept"] + fit["slope"] * x
    ax.plot(x, line, color=look["colour"], linestyle="--", linewidth=0.8)


def plot_fit(ax: Axes, fit: Fit, x: str, y: str, models: Models, **look: Any) -> None:
    """Plot a fit in its model's colour and marker, with intervals of x and y."""
    of_model = models[fit["model"]]
    look |= {"color": of_model["colour"], "marker": of_model["marker"], "elinewidth": 0.8}
    across, up = (whiskers(fit[of], fit[f"{of}_low"], fit[f"{of}_high"]) for of in (x, y))
    ax.errorbar(fit[x], fit[y], xerr=across, yerr=up, **look)


def _plot_parameter(
    ax: Axes, fits: pd.DataFrame, parameter: str, models: Models, x: str = "r_cv"
) -> None:
    """Plot fits, one per model, with intervals of x and y."""
    fits = fits.dropna(subset=[x, parameter])
    for fit in fits.to_dict("records"):
        plot_fit(ax, fit, x, parameter, models)
    _name_ends(ax, fits, x, parameter, models)


def _name_ends(ax: Axes, fits: pd.DataFrame, x: str, y: str, models: Models) -> None:
    """Write the names of the smallest and largest model of each group at their points.

    Checkpoints get no names, which would cover their points. The legend shows their steps.
    """
    points = fits.set_index("model")[[x, y]]
    for group, names in points.groupby(lambda name: models[name]["group"]).groups.items():
        if group != models[names[0]]["family_title"]:
            continue
        first, *_, last = 2 * palette.by_size(names, models)
        for name in dict.fromkeys((first, last)):
            colour = models[name]["colour"]
            name_point(ax, short_title(name, models), *points.loc[name], color=colour)


def _legend(fits: pd.DataFrame, published: pd.DataFrame, models: Models) -> list[Line2D]:
    """Return a legend's entries for groups of models and, if there are any, published values."""
    handles = group_handles([*fits["model"], *published["model"]], models, "none")
    return handles if published.empty else [*handles, published_handle()]


def trends(fits: pd.DataFrame, published: pd.DataFrame, quality: pd.Series, run: Run) -> Figure:
    """Draw r, optimal gamma and beta against bits per byte (left) and parameters (right).

    Lines join checkpoints of one training, and n-gram models of one corpus by order. Bootstrap
    intervals (95%) are cut off if they reach far beyond the points. Hollow: published.

    `fits` and `published` are of one data set. `quality` has bits per byte by model (`quality_of`).
    """
    ours, theirs = (table[table["linking_function"] == "morcela"] for table in (fits, published))
    ours, theirs = (
        table.assign(
            bits=table["model"].map(quality),
            parameters=[run.models[name].get("parameters") or np.nan for name in table["model"]],
        )
        for table in (ours, theirs)
    )
    figure, axes = grid(
        len(LABELS), 2, width=style.PAGE_INCHES / 2, height=1.9, margins=(0.0, 0.8), sharey="row",
        sharex="col",
    )  # fmt: skip
    finished = complete(ours, run.models)
    for row, (quantity, label) in zip(axes, LABELS.items(), strict=True):
        draw_models(row[0], ours, "bits", quantity, run.models, joined="series")
        draw_models(row[1], finished, "parameters", quantity, run.models, joined="series")
        draw_models(
            row[1], theirs, "parameters", quantity, run.models, joined="series", hollow=True
        )
        frame(row[0], pd.concat([ours, theirs]), quantity)
        row[0].set_ylabel(label)
        for ax in row if quantity in FIXED else []:
            ax.axhline(FIXED[quantity], color=palette.GREY, linewidth=0.8, linestyle=":")
    axes[-1, 0].set_xlabel(BITS_LABEL.format("sentences rated acceptable"))
    axes[-1, 1].set_xlabel(f"{SIZE_LABEL} (millions)")
    axes[0, 1].set_xscale("log")
    for ax in axes[:, 1]:
        ax.xaxis.set_major_formatter(FuncFormatter(lambda size, _: f"{size / 1e6:,g}"))
        ax.xaxis.set_minor_formatter(NullFormatter())
    shown = pd.concat([ours.dropna(subset="bits"), finished.dropna(subset="parameters"), theirs])
    legend_above(figure, _legend(shown, theirs, run.models), columns=4)
    return figure


def quality_of(tables: Tables, dataset: str, scored_first: Collection[str]) -> pd.Series:
    """Return bits per byte of the sentences with acceptable ratings, by model.

    Args:
        tables: `stimuli`, and `sentence_scores` of models that read from left to right. Imported
            scores and pseudo-log-likelihoods do not give bits per byte.
        dataset: name.
        scored_first: BOS policies that score a sentence's first token. The first one that a model
            has is used, so that all bytes are scored.
    """
    if "sentence_scores" not in tables:
        return pd.Series(dtype=float)
    stimuli = tables["stimuli"]
    rated = stimuli[(stimuli["dataset"] == dataset) & stimuli["rating"].notna()]
    texts = rated[rated["rating"] > middle(rated["rating"])].set_index("item_id")["text"]
    scores = tables["sentence_scores"]
    scores = scores[(scores["dataset"] == dataset) & scores["bos"].isin(scored_first)]
    found = {}
    for model, rows in scores.groupby("model", sort=False):
        first = (rows[["bos", "unigrams"]] == rows[["bos", "unigrams"]].iloc[0]).all(axis=1)
        found[model] = bits_a_byte(rows[first].set_index("item_id")["logprob"], texts)
    return pd.Series(found, dtype=float)


def middle(rating: pd.Series) -> float:
    """Return the limit of acceptable ratings: 0 if both signs occur, else the mean."""
    return 0.0 if rating.min() < 0 < rating.max() else float(rating.to_numpy().mean())
