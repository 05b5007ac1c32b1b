"""Figures 2 to 6 of MORCELA, and what each convention does (Tjuatja et al. 2025)."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import label_provenance, legend_above, short_title
from lingprob.figures.palette import Models
from lingprob.figures.panels import grid, whiskers
from lingprob.papers.contract import Run, Tables
from lingprob.papers.morcela.fits import default_fits, published_fits
from lingprob.papers.morcela.looks import LOOKS, NAMES, R_LABEL, linking_function_handles
from lingprob.papers.morcela.parameter_figures import frequency_slopes, parameters_by_correlation


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw the paper's figures and `conventions`, by name; Figure 5 where `slopes` are given.

    Args:
        tables: `linking_functions` under all conventions (figures but `conventions` show each
            model's default one), `intergroup_correlation`, and of Figure 5 `slopes` and `bins`.
        run: with the paper's numbers, which stand beside ours.
    """
    every = tables["linking_functions"]
    fits, published = default_fits(every), published_fits(run.published, every)
    # Of two published r that are at odds, the one that all linking functions have.
    published = published.assign(r_cv=published["r"])
    compared = ["logprob", "slor", "morcela"]
    ablated = ["slor", "morcela_gamma_0", "morcela_beta_1", "morcela"]
    correlations = (fits, published, tables["intergroup_correlation"], run.models)
    parameters = (fits, published, run.models)
    figures = {
        "figure_2": correlation_by_model(*correlations, compared),
        "figure_3": correlation_by_model(*correlations, ablated),
        "figure_4": parameters_by_correlation(*parameters, ["morcela"]),
        "figure_6": parameters_by_correlation(*parameters, ablated[1:]),
        "conventions": conventions(every, run.models),
    }
    if "slopes" in tables:
        figures["figure_5"] = frequency_slopes(fits, tables["slopes"], tables["bins"], run.models)
    for figure in figures.values():
        label_provenance(figure, every["scale"], every["rating_source"])
    return figures


def correlation_by_model(
    fits: pd.DataFrame,
    published: pd.DataFrame,
    agreement: pd.DataFrame,
    models: Models,
    linking_functions: list[str],
) -> Figure:
    """Figures 2 and 3: cross-validated r of each linking function, by model size, a panel a family.

    Filled markers are ours, with 95% bootstrap intervals of r over sentences; hollow ones the
    published values, of the published SSE.
    """
    theirs = published[published["linking_function"].isin(linking_functions)]
    panels = family_panels(fits, theirs, models)
    shifts = np.linspace(-0.15, 0.15, len(linking_functions))
    widths = [1.2 + len(names) for names in panels.values()]
    width = 0.32 * sum(widths) / len(widths)
    figure, axes = grid(
        1, len(panels), width=width, height=2.1, margins=(1.6, 0.8), narrowest=4.4,
        sharey=True, width_ratios=widths,
    )  # fmt: skip
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
    legend_above(figure, handles)
    return figure


def conventions(all_fits: pd.DataFrame, models: Models) -> Figure:
    """What the BOS policy and the unigram source do to r: a row a convention, a panel a model."""
    shown = list(dict.fromkeys(all_fits["model"]))
    rows = [
        all_fits[all_fits["model"] == name].groupby(["bos", "unigrams"]).ngroups for name in shown
    ]
    figure, axes = grid(
        len(shown), 1, width=style.PAGE_INCHES, height=0.3 * (sum(rows) / len(rows) + 1),
        margins=(0.0, 1.3), sharex=True, height_ratios=[row + 1 for row in rows],
    )  # fmt: skip
    for ax, name in zip(axes[:, 0], shown, strict=True):
        fits = all_fits[all_fits["model"] == name]
        groups = list(fits.groupby(["dataset", "bos", "unigrams"], sort=False))
        for row, (_, group) in enumerate(groups):
            places = row + np.linspace(-0.25, 0.25, len(group))
            for place, (_, fit) in zip(places, group.iterrows(), strict=True):
                colour, marker = LOOKS[fit["linking_function"]]
                ax.errorbar(
                    fit["r_cv"],
                    place,
                    xerr=whiskers(fit["r_cv"], fit["r_low"], fit["r_high"]),
                    color=colour,
                    marker=marker,
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
    legend_above(figure, linking_function_handles(list(NAMES)))
    return figure


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
    colour, marker = LOOKS[linking_function]
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
        ax.errorbar(
            group["x"],
            group["r_cv"],
            yerr=whiskers(group["r_cv"], group["r_low"], group["r_high"]),
            color=colour,
            marker=marker,
            elinewidth=0.8,
        )


def _draw_ceiling(ax: Axes, agreement: pd.DataFrame) -> None:
    halves = agreement[agreement["definition"] == "equal_halves"]
    for _, half in halves.iterrows():
        ax.axhline(half["r"], color=palette.BLACK, linestyle="--", linewidth=0.8)
