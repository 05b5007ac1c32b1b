"""What conventions do to r, beta and gamma: one at a time, all crossed, and numbers of samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import group_handles, handle, legend_above, wrapped_title
from lingprob.figures.palette import Models
from lingprob.figures.panels import grid, whiskers
from lingprob.papers.contract import Run
from lingprob.papers.morcela.fits import main_dataset
from lingprob.papers.morcela.looks import LOOKS, PARAMETER_LABELS, R_LABEL, SHORT_LABELS
from lingprob.papers.morcela.specifications import CONVENTIONS, source_name, specifications
from lingprob.papers.morcela.units import UNITS

QUANTITIES = {"r_cv": R_LABEL, **PARAMETER_LABELS}
QUANTITIES = {name: QUANTITIES[name] for name in ("r_cv", "beta", "gamma")}
ROW_INCHES = 0.2


def conventions(multiverse: pd.DataFrame, run: Run) -> Figure:
    """What leaving the default convention does to MORCELA: a row a convention, blocks by family.

    In rows of BOS policies and unigram sources folds and resamples are the default ones, in those
    of folds and resamples the former are. Every model of a family has a point, the darker the
    larger; hollow squares are SLOR's r. Intervals are 95%, of what the row resamples.
    """
    models = run.models
    shown = one_at_a_time(multiverse)
    family = shown["model"].map(lambda name: models[name]["family"])
    blocks = list(shown.groupby([family, shown["dataset"]], sort=False))
    labels = [list(dict.fromkeys(block["row"])) for _, block in blocks]
    figure, axes = grid(
        len(blocks), len(QUANTITIES), width=style.PAGE_INCHES / 3,
        height=ROW_INCHES * (sum(map(len, labels)) / len(labels) + 2), margins=(0.0, 0.9),
        sharex="col", sharey="row", height_ratios=[len(rows) + 2 for rows in labels],
        width_ratios=[1.2, 1, 1],
    )  # fmt: skip
    several = shown["dataset"].nunique() > 1
    for of_block, ((_, dataset), block), rows in zip(axes, blocks, labels, strict=True):
        for ax, quantity in zip(of_block, QUANTITIES, strict=True):
            _plot_rows(ax, block, quantity, rows, models)
        of_block[0].set_yticks(range(len(rows)), rows, fontsize=5.5)
        of_block[0].set_ylim(len(rows) - 0.4, -0.6)
        title = str(models[block["model"].iloc[0]]["family_title"])
        of_dataset = f": {wrapped_title(dataset, run.titles, 60)}" if several else ""
        of_block[0].set_title(f"{title}{of_dataset}", loc="left")
    for ax, label in zip(axes[-1], QUANTITIES.values(), strict=True):
        ax.set_xlabel(label)
    handles = group_handles(shown["model"], models, "none")
    slor = handle("SLOR", LOOKS["slor"][0], "s", "none", markerfacecolor="white")
    legend_above(figure, [*handles, slor])
    return figure


def one_at_a_time(multiverse: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of SLOR and MORCELA that figures of conventions show, with their `row`."""
    keys = ["model", "dataset"]
    default = multiverse[multiverse["default_convention"]]
    default = default.drop_duplicates(keys)[[*keys, "bos", "unigrams", "cluster", "kept_together"]]
    table = multiverse.merge(default, on=keys, suffixes=("", "_default"))
    same = {
        name: table[name] == table[f"{name}_default"]
        for name in ("bos", "unigrams", "cluster", "kept_together")
    }
    inputs, units = same["bos"] & same["unigrams"], same["cluster"] & same["kept_together"]
    what = table["bos"] + " | " + table["unigrams"].map(source_name)
    table["row"] = np.select(
        [inputs & units, units, inputs & same["kept_together"], inputs & same["cluster"]],
        [what + " (default)", what, "resampled: " + table["cluster"] + "s",
         "folds keep: " + table["kept_together"] + "s"],
        default="",
    )  # fmt: skip
    wanted = (table["row"] != "") & table["linking_function"].isin(["slor", "morcela"])
    order = np.select([units, inputs & same["kept_together"]], [0, 1], default=2)
    place = table["cluster"].map(list(UNITS).index) + table["kept_together"].map(list(UNITS).index)
    table = table.assign(order=order, place=place.where(order > 0, 0))[wanted]
    return table.sort_values(["order", "place"], kind="stable", ignore_index=True)


def _plot_rows(
    ax: Axes, block: pd.DataFrame, quantity: str, rows: list[str], models: Models
) -> None:
    """Plot a quantity of each model of a family in rows, models side by side by size."""
    by_size = palette.by_size(dict.fromkeys(block["model"]), models)
    shifts = dict(zip(by_size, np.linspace(-0.32, 0.32, len(by_size) + 2)[1:-1], strict=True))
    place = {row: number for number, row in enumerate(rows)}
    small = 4.0 if len(by_size) < 4 else 2.2
    for fit in block.to_dict("records"):
        look, y = models[fit["model"]], place[fit["row"]] + shifts[fit["model"]]
        if fit["linking_function"] == "slor":
            if quantity == "r_cv":
                ax.plot(fit["r_cv"], y, "s", color=LOOKS["slor"][0], markerfacecolor="white",
                        markersize=small)  # fmt: skip
            continue
        ends = whiskers(fit[quantity], fit[f"{quantity}_low"], fit[f"{quantity}_high"])
        ax.errorbar(
            fit[quantity], y, xerr=ends, color=look["colour"], marker=look["marker"],
            markersize=small, elinewidth=0.6,
        )  # fmt: skip
    fixed = {"beta": 1, "gamma": 0}
    if quantity in fixed:
        ax.axvline(fixed[quantity], color=palette.GREY, linewidth=0.8, linestyle=":")


def specification_curve(
    multiverse: pd.DataFrame, run: Run, bos_policies: Mapping[str, Mapping[str, str]]
) -> Figure:
    """All conventions crossed: beta, gamma and r of each specification, and what it is.

    Of the paper's data set (or the first); a column a family, specifications by their mean beta.
    Lines are models with their 95% intervals, which differ by what is resampled; vertical: the
    default. Below, a mark stands where a specification has the option.
    """
    models, dataset = run.models, main_dataset(multiverse)
    of_dataset = f" of {wrapped_title(dataset, run.titles, 60)}"
    of_dataset *= multiverse["dataset"].nunique() > 1
    table = specifications(multiverse[multiverse["dataset"] == dataset], bos_policies)
    family = table["model"].map(lambda name: models[name]["family"])
    families = [part for _, part in table.groupby(family, sort=False)]
    options = [(name, one) for name in CONVENTIONS for one in sorted(set(table[name]))]
    rows = len(QUANTITIES) + 1
    figure, axes = grid(
        rows, len(families), width=style.PAGE_INCHES / len(families), height=1.35,
        margins=(0.0, 0.6 + 0.13 * len(options) - 1.35), narrowest=style.PAGE_INCHES,
        sharex="col", sharey="row", height_ratios=[1] * (rows - 1) + [0.1 * len(options)],
    )  # fmt: skip
    for column, part in zip(axes.T, families, strict=True):
        _plot_family_curve(column, part, options, models)
        column[0].set_title(str(models[part["model"].iloc[0]]["family_title"]))
        count = len(part.value_counts(list(CONVENTIONS)))
        column[-1].set_xlabel(f"{count} specifications{of_dataset}")
    for ax, quantity in zip(axes[:-1, 0], QUANTITIES, strict=True):
        ax.set_ylabel(SHORT_LABELS[quantity])
    names = [f"{CONVENTIONS[name]}: {one}" for name, one in options]
    axes[-1, 0].set_yticks(range(len(options)), names, fontsize=5)
    axes[-1, 0].set_ylim(len(options) - 0.4, -0.6)
    legend_above(figure, group_handles(table["model"], models))
    return figure


def _plot_family_curve(
    axes: np.ndarray, part: pd.DataFrame, options: list[tuple[str, str]], models: Models
) -> None:
    """Plot the models of a family over their specifications, and these below."""
    keys = list(CONVENTIONS)
    order = part.groupby(keys, sort=False)["beta"].mean().round(6).reset_index()
    order = order.sort_values(["beta", *keys], ignore_index=True)[keys]
    order["x"] = np.arange(len(order))
    part = part.merge(order, on=keys)
    for name, of_model in part.sort_values("x").groupby("model", sort=False):
        colour = models[name]["colour"]
        for ax, quantity in zip(axes[:-1], QUANTITIES, strict=True):
            ax.plot(of_model["x"], of_model[quantity], color=colour, linewidth=0.9)
            ends = of_model[f"{quantity}_low"], of_model[f"{quantity}_high"]
            ax.vlines(of_model["x"], *ends, color=colour, alpha=0.25, linewidth=0.5)
    for x in set(part.loc[part["default_convention"], "x"]):
        for ax in axes:
            ax.axvline(x, color=palette.BLACK, linewidth=0.6, linestyle="--")
    for row, (name, one) in enumerate(options):
        there = order.loc[order[name] == one, "x"]
        axes[-1].plot(there, np.full(len(there), row), "|", color=palette.BLACK, markersize=2.5,
                      markeredgewidth=0.5)  # fmt: skip
    axes[-1].set_xticks([])


def sample_sizes(table: pd.DataFrame, run: Run) -> Figure:
    """Beta and gamma of MORCELA by the number of samples behind the unigrams.

    Of the paper's data set (or the first). Points are fits with parts of the samples, lines their
    means, stars the values for infinitely many.
    """
    models, dataset = run.models, main_dataset(table)
    several = table["dataset"].nunique() > 1
    table = table[table["dataset"] == dataset]
    kinds = list(dict.fromkeys(table["unigrams"].map(source_name)))
    styles = dict(zip(kinds, ("-", "--", ":"), strict=False))
    figure, axes = grid(1, 2, width=style.PAGE_INCHES / 2, height=2.3, margins=(0.0, 0.3))
    for (name, source), part in table.groupby(["model", "unigrams"], sort=False):
        look: dict[str, Any] = {"color": models[name]["colour"]}
        fitted, limit = part[~part["extrapolated"]], part[part["extrapolated"]]
        for ax, quantity in zip(axes[0], ("beta", "gamma"), strict=True):
            ax.plot(fitted["samples"], fitted[quantity], ".", alpha=0.5, markersize=3, **look)
            means = fitted.groupby("samples")[quantity].mean()
            ax.plot(means.index, means, linestyle=styles[source_name(source)], **look)
            ax.plot(1.6 * limit["samples"], limit[quantity], "*", markersize=7, **look)
            ax.set_ylabel(PARAMETER_LABELS[quantity])
    for ax in axes[0]:
        if several:
            ax.set_title(wrapped_title(dataset, run.titles, 60))
        ax.set_xscale("log", base=2)
        samples = sorted(set(table["samples"]))
        # A part may be little larger than the one before, and their names as near.
        samples = [
            n for n, more in zip(samples, [*samples[1:], np.inf], strict=True) if more > 1.4 * n
        ]
        ax.set_xticks([*samples, 1.6 * samples[-1]], [f"{n:,}" for n in samples] + ["limit"])
        ax.tick_params(axis="x", rotation=45 if len(samples) > 4 else 0)
        ax.minorticks_off()
        ax.set_xlabel("Samples")
    lines = [handle(kind, palette.BLACK, linestyle=look) for kind, look in styles.items()]
    star = handle("extrapolated to infinitely many", palette.BLACK, "*", "none")
    legend_above(figure, [*group_handles(table["model"], models), *lines, star])
    return figure
