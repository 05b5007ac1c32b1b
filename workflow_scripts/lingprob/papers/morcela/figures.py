"""Figures 2 to 6 of MORCELA, and what each convention does (Tjuatja et al. 2025)."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import style
from lingprob.figures.labels import (
    COLOURS,
    FAMILIES,
    MARKERS,
    NAMES,
    Models,
    family_colour,
    family_handles,
    linking_function_handles,
    short_title,
)

R_LABEL = "Pearson r with ratings"
PARAMETER_LABELS = {"gamma": r"Optimal $\gamma$ (nats)", "beta": r"Optimal $\beta$"}


def draw_fits(
    linking_functions: pd.DataFrame,
    default_fits: pd.DataFrame,
    published: pd.DataFrame,
    agreement: pd.DataFrame,
    models: Models,
) -> dict[str, Figure]:
    """Draw every figure that needs fits alone, by name.

    `linking_functions` has all conventions, `default_fits` those that the figures show.
    """
    compared = ["logprob", "slor", "morcela"]
    ablated = ["slor", "morcela_gamma_0", "morcela_beta_1", "morcela"]
    correlations = (default_fits, published, agreement, models)
    parameters = (default_fits, published, models)
    return {
        "figure_2": correlation_by_model(*correlations, compared),
        "figure_3": correlation_by_model(*correlations, ablated),
        "figure_4": parameters_by_correlation(*parameters, ["morcela"]),
        "figure_6": parameters_by_correlation(*parameters, ablated[1:]),
        "conventions": conventions(linking_functions, models),
    }


def correlation_by_model(
    fits: pd.DataFrame,
    published: pd.DataFrame,
    agreement: pd.DataFrame,
    models: Models,
    linking_functions: list[str],
) -> Figure:
    """Figures 2 and 3: cross-validated r of each linking function, by model size, a panel a family.

    Filled markers are ours, with 95% bootstrap intervals of r over sentences; hollow ones the
    published values. A published r that the paper gives only as an SSE is sqrt(1 - SSE / SST).
    """
    theirs = with_derived_r(published, fits)
    theirs = theirs[theirs["linking_function"].isin(linking_functions)]
    panels = family_panels(fits, theirs, models)
    shifts = np.linspace(-0.15, 0.15, len(linking_functions))
    widths = [1.2 + len(names) for names in panels.values()]
    figure, axes = plt.subplots(
        1,
        len(panels),
        sharey=True,
        squeeze=False,
        width_ratios=widths,
        figsize=(min(style.PAGE_INCHES, max(4.4, 1.6 + 0.32 * sum(widths))), 2.9),
    )
    for ax, names in zip(axes[0], panels.values(), strict=True):
        for linking_function, shift in zip(linking_functions, shifts, strict=True):
            place = {name: x + shift for x, name in enumerate(names)}
            _plot_family(ax, fits, theirs, place, linking_function)
        ax.set_xticks(range(len(names)), [short_title(name, models) for name in names])
        ax.tick_params(axis="x", rotation=45)
        ax.set_xlim(-0.6, len(names) - 0.4)
        ax.set_title(str(models[names[0]]["family_title"]))
        _draw_ceiling(ax, agreement)
    axes[0][0].set_ylabel(R_LABEL)
    handles = linking_function_handles(linking_functions, not theirs.empty, not agreement.empty)
    columns = len(handles) if len(handles) <= 5 else -(-len(handles) // 2)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, fontsize=7)
    style.label_provenance(figure, fits["rating_source"], fits["scale"])
    return figure


def parameters_by_correlation(
    fits: pd.DataFrame, published: pd.DataFrame, models: Models, linking_functions: list[str]
) -> Figure:
    """Figures 4 and 6: optimal gamma (top) and beta (bottom) against r, a panel a function.

    Ours with 95% bootstrap intervals; published points (MORCELA's alone) are hollow, joined in
    order of model size, the smallest and the largest named. Dotted: SLOR's fixed value.
    """
    fixed = {"morcela_beta_1": "beta", "morcela_gamma_0": "gamma"}
    free = {
        parameter: [name for name in linking_functions if fixed.get(name) != parameter]
        for parameter in ("gamma", "beta")
    }
    columns = len(free["gamma"])
    figure, axes = plt.subplots(
        2,
        columns,
        squeeze=False,
        sharex=True,
        sharey="row",
        figsize=(style.COLUMN_INCHES + 1.8 * (columns - 1), 4.4),
    )
    for row, (parameter, names) in enumerate(free.items()):
        for ax, linking_function in zip(axes[row], names, strict=True):
            ours = fits[fits["linking_function"] == linking_function]
            _plot_parameter(ax, ours, "r_cv", parameter, models)
            theirs = published[published["linking_function"] == linking_function]
            if parameter in theirs:
                _plot_published(ax, theirs, "r_cv", parameter, models)
            ax.axhline(
                {"gamma": 0, "beta": 1}[parameter], color=style.GREY, linewidth=0.8, linestyle=":"
            )
            ax.set_title(NAMES[linking_function])
            ax.margins(0.15)
        axes[row, 0].set_ylabel(PARAMETER_LABELS[parameter])
    for ax in axes[-1]:
        ax.set_xlabel(R_LABEL)
    shown = [*fits["model"], *published["model"]]
    figure.legend(
        handles=family_handles(shown, models, not published.empty),
        loc="outside upper center",
        ncols=4,
        fontsize=7,
    )
    style.label_provenance(figure, fits["rating_source"], fits["scale"])
    return figure


def conventions(all_fits: pd.DataFrame, models: Models) -> Figure:
    """What the BOS policy and the unigram source do to r: a row a convention, a panel a model."""
    shown = list(dict.fromkeys(all_fits["model"]))
    rows = [
        all_fits[all_fits["model"] == name].groupby(["bos", "unigrams"]).ngroups for name in shown
    ]
    figure, axes = plt.subplots(
        len(shown),
        1,
        sharex=True,
        squeeze=False,
        height_ratios=[row + 1 for row in rows],
        figsize=(style.PAGE_INCHES, 1.3 + 0.3 * (sum(rows) + len(rows))),
    )
    for ax, name in zip(axes[:, 0], shown, strict=True):
        fits = all_fits[all_fits["model"] == name]
        groups = list(fits.groupby(["dataset", "bos", "unigrams"], sort=False))
        for row, (_, group) in enumerate(groups):
            places = row + np.linspace(-0.25, 0.25, len(group))
            for place, (_, fit) in zip(places, group.iterrows(), strict=True):
                function = fit["linking_function"]
                ax.errorbar(
                    fit["r_cv"],
                    place,
                    xerr=_whiskers(fit["r_cv"], fit["r_low"], fit["r_high"]),
                    color=COLOURS[function],
                    marker=MARKERS[function],
                    linewidth=0.8,
                )
        labels = [
            f"{bos} | {unigrams}" + (" (default)" if group["default_convention"].any() else "")
            for (_, bos, unigrams), group in groups
        ]
        ax.set_yticks(range(len(labels)), labels, fontsize=6)
        ax.set_ylim(len(labels) - 0.5, -0.5)
        ax.set_title(models[name]["title"])
    axes[-1, 0].set_xlabel(R_LABEL)
    figure.supylabel("BOS policy | unigram source", fontsize=8)
    handles = linking_function_handles(list(NAMES), published=False, ceiling=False)
    figure.legend(handles=handles, loc="outside upper center", ncols=6, fontsize=7)
    style.label_provenance(figure, all_fits["rating_source"], all_fits["scale"])
    return figure


def frequency_slopes(
    fits: pd.DataFrame, slopes: pd.DataFrame, bins: pd.DataFrame, models: Models
) -> Figure:
    """Figure 5: slope of token on unigram log-probability against r and beta, and the tokens.

    Slopes with 95% intervals (1.96 standard errors), beta with its bootstrap interval. On the
    left the mean token log-probability by bin of unigram log-probability, with its standard error.
    """
    figure, axes = plt.subplots(1, 3, figsize=(style.PAGE_INCHES, 2.6))
    morcela = fits[fits["linking_function"] == "morcela"].merge(
        slopes[["model", "corpus", "slope", "slope_std_error", "intercept"]], on="model"
    )
    for _, fit in morcela.iterrows():
        colour = family_colour(fit["model"], models)
        within = bins[(bins["model"] == fit["model"]) & (bins["n_tokens"] > 1)]
        x = within["mean_unigram_logprob"]
        axes[0].errorbar(
            x,
            within["mean_logprob"],
            yerr=1.96 * within["sd_logprob"] / np.sqrt(within["n_tokens"]),
            color=colour,
            marker="o",
            markersize=2.5,
            linewidth=0.8,
        )
        axes[0].plot(
            x, fit["intercept"] + fit["slope"] * x, color=colour, linestyle="--", linewidth=0.8
        )
        fit["slope_low"] = fit["slope"] - 1.96 * fit["slope_std_error"]
        fit["slope_high"] = fit["slope"] + 1.96 * fit["slope_std_error"]
        for ax, quantity in zip(axes[1:], ("r_cv", "beta"), strict=True):
            _with_interval(ax, fit, "slope", quantity, colour)
            ax.annotate(
                short_title(fit["model"], models),
                (fit["slope"], fit[quantity]),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=6,
            )
    axes[0].set_xlabel("Unigram log-probability (nats)")
    axes[0].set_ylabel("Token log-probability (nats)")
    axes[0].set_title(" / ".join(dict.fromkeys(slopes["corpus"])))
    for ax, label in zip(axes[1:], (R_LABEL, r"Optimal $\beta$"), strict=True):
        ax.set_xlabel("Slope of token on unigram\nlog-probability")
        ax.set_ylabel(label)
    style.label_provenance(figure, fits["rating_source"], fits["scale"])
    return figure


def with_derived_r(published: pd.DataFrame, fits: pd.DataFrame) -> pd.DataFrame:
    """Add r = sqrt(1 - SSE / SST) where the paper gives an SSE and no r.

    SST, of the same ratings, follows from any of our fits: SSE / (1 - r^2).
    """
    if published.empty:
        return published.assign(r_cv=[])
    sst = (fits["sse"] / (1 - fits["r"] ** 2)).median()
    derived = np.sqrt((1 - published["sse"] / sst).clip(lower=0))
    return published.assign(r_cv=published["r_cv"].fillna(derived))


def family_panels(
    fits: pd.DataFrame, published: pd.DataFrame, models: Models
) -> dict[str, list[str]]:
    """Group the models that have a point by family, each by size; our families first."""
    names = [*fits["model"], *(published["model"] if len(published) else [])]
    panels: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        panels.setdefault(models[name]["family"], []).append(name)
    return {
        family: sorted(group, key=lambda name: models[name].get("parameters") or 0)
        for family, group in panels.items()
    }


def _plot_family(
    ax: Axes,
    fits: pd.DataFrame,
    theirs: pd.DataFrame,
    place: dict[str, float],
    linking_function: str,
) -> None:
    """Plot one linking function's r for the models that have a place on the x axis."""
    colour, marker = COLOURS[linking_function], MARKERS[linking_function]
    of_panel = theirs[theirs["linking_function"] == linking_function]
    of_panel = of_panel.assign(x=of_panel["model"].map(place)).dropna(subset=["x"])
    of_panel = of_panel.sort_values("x")
    ax.plot(
        of_panel["x"],
        of_panel["r_cv"],
        color=colour,
        marker=marker,
        markerfacecolor="white",
        linestyle=":",
        linewidth=0.8,
    )
    ours = fits[fits["linking_function"] == linking_function]
    ours = ours.assign(x=ours["model"].map(place)).dropna(subset=["x"])
    for _, group in ours.groupby("dataset", sort=False):
        group = group.sort_values("x")
        whiskers = [
            _whiskers(r, low, high)
            for r, low, high in zip(group["r_cv"], group["r_low"], group["r_high"], strict=True)
        ]
        ax.errorbar(
            group["x"],
            group["r_cv"],
            yerr=np.hstack(whiskers),
            color=colour,
            marker=marker,
            elinewidth=0.8,
        )


def _whiskers(value: float, low: float, high: float) -> np.ndarray:
    return np.array([[max(value - low, 0.0)], [max(high - value, 0.0)]])


def _with_interval(ax: Axes, fit: pd.Series, x: str, y: str, colour: str) -> None:
    def whiskers(quantity: str) -> np.ndarray:
        stem = "r" if quantity == "r_cv" else quantity
        return _whiskers(fit[quantity], fit[f"{stem}_low"], fit[f"{stem}_high"])

    ax.errorbar(
        fit[x],
        fit[y],
        xerr=whiskers(x),
        yerr=whiskers(y),
        color=colour,
        marker="o",
        elinewidth=0.8,
    )


def _plot_parameter(ax: Axes, fits: pd.DataFrame, x: str, y: str, models: Models) -> None:
    """Plot our fits with intervals both ways, each named."""
    for _, fit in fits.iterrows():
        _with_interval(ax, fit, x, y, family_colour(fit["model"], models))
        ax.annotate(
            models[fit["model"]]["title"],
            (fit[x], fit[y]),
            xytext=(-4, -9),
            textcoords="offset points",
            ha="right",
            fontsize=6,
        )


def _plot_published(ax: Axes, rows: pd.DataFrame, x: str, y: str, models: Models) -> None:
    """Plot published values as hollow points, joined by model size within a family."""
    for family, group in rows.groupby(rows["model"].map(lambda name: models[name]["family"])):
        colour = FAMILIES.get(str(family), style.BLACK)
        size = group["model"].map(lambda name: models[name]["parameters"])
        group = group.loc[size.sort_values().index]
        ax.plot(
            group[x],
            group[y],
            color=colour,
            marker="o",
            markerfacecolor="white",
            linestyle=":",
            linewidth=0.8,
        )
        for end in (0, -1):
            row = group.iloc[end]
            ax.annotate(
                short_title(row["model"], models),
                (row[x], row[y]),
                xytext=(4, 4),
                textcoords="offset points",
                fontsize=6,
                color=colour,
            )


def _draw_ceiling(ax: Axes, agreement: pd.DataFrame) -> None:
    halves = agreement[agreement["definition"] == "equal_halves"]
    for _, half in halves.iterrows():
        ax.axhline(half["r"], color=style.BLACK, linestyle="--", linewidth=0.8)
