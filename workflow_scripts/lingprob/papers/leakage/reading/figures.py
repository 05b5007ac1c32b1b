"""Figure 2 of the paper on leakage, and the published fits to Natural Stories, by model size."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import fill

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

from lingprob.figures import style
from lingprob.figures.labels import FAMILIES, Models

COLUMNS = 4
ROW_INCHES = 1.55
# The paper's orange before fine-tuning, green and purple after it come first.
OTHER_COLOURS = (style.ORANGE, style.GREEN, style.PURPLE, style.SKY, style.BLACK, style.GREY)
# What each convention of the published fits is, in a panel's title.
CONVENTIONS = {
    "compat": "as published",
    "numeric_order": "previous words of\nthe same story",
    "realigned": "and times at\ntheir words",
    "realigned_all": "and against no\nsurprisal at all",
}


def figure_2(deltas: pd.DataFrame, models: Models, titles: Mapping[str, str]) -> Figure:
    """Draw ΔLogLik (with 95% intervals) and word perplexity of every data set by model size.

    Models of unknown size are named in the legend and not drawn.

    Args:
        deltas: a `delta_log_likelihood` table.
        models: title, family and parameters by model.
        titles: of the data sets.
    """
    datasets = list(dict.fromkeys(deltas["dataset"]))
    bands = -(-len(datasets) // COLUMNS)
    columns = min(COLUMNS, len(datasets))
    figure, axes = plt.subplots(
        2 * bands, columns, squeeze=False, sharex=True,
        figsize=(max(style.COLUMN_INCHES, style.PAGE_INCHES * columns / COLUMNS),
                 0.9 + 2 * bands * ROW_INCHES),
    )  # fmt: skip
    colours = family_colours(deltas["model"], models)
    for number in range(bands * columns):
        upper, lower = axes[2 * (number // columns) : 2 * (number // columns) + 2, number % columns]
        if number >= len(datasets):
            upper.set_visible(False)
            lower.set_visible(False)
            continue
        part = _with_size(deltas[deltas["dataset"] == datasets[number]], models)
        _by_family(upper, part, "delta", colours, models)
        _by_family(lower, part, "word_perplexity", colours, models)
        upper.set_title(fill(titles[datasets[number]], 22))
        upper.axhline(0, color=style.BLACK, linewidth=0.6)
        lower.set_yscale("log")
        _plain_numbers(lower, "y")
        for axis in (upper, lower):
            axis.set_xscale("log")
            axis.xaxis.set_minor_formatter(NullFormatter())
        lower.set_xlabel("parameters")
        if number % columns == 0:
            upper.set_ylabel("ΔLogLik (nats)")
            lower.set_ylabel("word perplexity")
    _legend(figure, deltas["model"], models, colours)
    style.label_provenance(figure, deltas["rt_source"], deltas["scale"], "reading times")
    return figure


def inverse_scaling(fits: pd.DataFrame, models: Models) -> Figure:
    """Draw the published fits to Natural Stories, and mended, by model size and by perplexity.

    The line is a regression over the published models; its slope is in nats per tenfold. Models of
    unknown size are named in the legend and not drawn.

    Args:
        fits: a `published_delta` table.
        models: title, family and parameters by model.
    """
    conventions = [name for name in CONVENTIONS if name in set(fits["convention"])]
    figure, axes = plt.subplots(
        2, len(conventions), squeeze=False, figsize=(style.PAGE_INCHES, 4.3), sharex="row"
    )
    colours = family_colours(fits["model"], models)
    published = set(fits.loc[fits["convention"] == "compat", "model"])
    for column, convention in enumerate(conventions):
        part = _with_size(fits[fits["convention"] == convention], models)
        for row, (place, label) in enumerate(
            (("parameters", "parameters"), ("word_perplexity", "perplexity (words)"))
        ):
            axis = axes[row, column]
            _by_family(axis, part, "delta", colours, models, place=place)
            known = part["published_delta"].notna()
            axis.scatter(
                part.loc[known, place], part.loc[known, "published_delta"].astype(float),
                facecolors="none", edgecolors=style.BLACK, s=34, linewidths=0.8, zorder=4,
            )  # fmt: skip
            _regression_line(axis, part[part["model"].isin(published)], place)
            axis.set_xscale("log")
            axis.xaxis.set_minor_formatter(NullFormatter())
            if place == "word_perplexity":
                _plain_numbers(axis, "x")
            axis.set_xlabel(label)
            axis.set_ylim(bottom=min(0, axis.get_ylim()[0]))
        axes[0, column].set_title(CONVENTIONS[convention])
    for axis in axes[:, 0]:
        axis.set_ylabel("ΔLogLik (nats)")
    hollow = Line2D(
        [], [], color=style.BLACK, marker="o", markerfacecolor="none", linestyle="none",
        label="published",
    )  # fmt: skip
    _legend(figure, fits["model"], models, colours, [hollow])
    style.label_provenance(figure, ["human"], fits["scale"])
    return figure


def family_colours(names: pd.Series, models: Models) -> dict[str, str]:
    """Return a colour for what each of these models belongs to (`family_of`)."""
    families = list(dict.fromkeys(family_of(name, models) for name in names))
    others = [family for family in families if family not in FAMILIES]
    spare = {family: OTHER_COLOURS[n % len(OTHER_COLOURS)] for n, family in enumerate(others)}
    return {family: FAMILIES.get(family) or spare[family] for family in families}


def family_of(name: str, models: Models) -> str:
    """Return a model's family; of models trained here, with their state of (fine-)tuning."""
    family, steps = models[name]["family"], models[name].get("fine_tuning_steps", 0)
    if step := models[name].get("training_step"):
        return f"{family}, after step {step:,}"
    return f"{family}, {steps} FT steps" if steps else str(family)


def _with_size(table: pd.DataFrame, models: Models) -> pd.DataFrame:
    """Add parameters and family, and leave out models of unknown size."""
    table = table.assign(
        parameters=table["model"].map(lambda name: models[name]["parameters"]).astype(float),
        family=table["model"].map(lambda name: family_of(name, models)),
    )
    return table.dropna(subset="parameters")


def _by_family(
    axis: Axes,
    table: pd.DataFrame,
    column: str,
    colours: Mapping[str, str],
    models: Models,
    place: str = "parameters",
) -> None:
    """Draw a line a family through its models in order of `place`, with intervals of ΔLogLik."""
    for family, part in table.sort_values(place).groupby("family", sort=False):
        x, y = part[place].to_numpy(float), part[column].to_numpy(float)
        errors = None
        if column == "delta":
            errors = np.abs(np.stack([part["delta_low"] - y, part["delta_high"] - y]))
        axis.errorbar(
            x, y, yerr=errors, color=colours[str(family)], marker="o", linewidth=1,
            elinewidth=0.6, capsize=1.5,
        )  # fmt: skip


def _plain_numbers(axis: Axes, which: str) -> None:
    """Label 1, 2 and 5 times the powers of ten of a logarithmic axis, however short it is."""
    side = axis.xaxis if which == "x" else axis.yaxis
    side.set_major_locator(LogLocator(subs=(1, 2, 5)))
    side.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    side.set_minor_locator(NullLocator())


def _regression_line(axis: Axes, part: pd.DataFrame, place: str) -> None:
    if len(part) < 3:
        return
    x = np.log10(part[place].to_numpy(float))
    slope, intercept = np.polyfit(x, part["delta"].to_numpy(float), 1)
    ends = np.array([x.min(), x.max()])
    axis.plot(10**ends, intercept + slope * ends, color=style.GREY, linestyle="--", linewidth=1)
    axis.text(
        0.97 if slope < 0 else 0.03, 0.95, f"{slope:+.0f} nats per tenfold", fontsize=6,
        transform=axis.transAxes, va="top", ha="right" if slope < 0 else "left", color=style.GREY,
    )  # fmt: skip


def _legend(
    figure: Figure,
    names: pd.Series,
    models: Models,
    colours: Mapping[str, str],
    more: list[Line2D] | None = None,
) -> None:
    unsized = [name for name in dict.fromkeys(names) if models[name]["parameters"] is None]
    titles = {}
    for name in names[~names.isin(unsized)]:
        _, _, steps = family_of(name, models).partition(", ")
        title = str(models[name]["family_title"])
        titles[family_of(name, models)] = f"{title}, {steps}" if steps else title
    handles = [
        Line2D([], [], color=colours[family], marker="o", label=title)
        for family, title in titles.items()
    ]
    handles += more or []
    if unsized:
        note = f"of unknown size: {', '.join(str(models[name]['title']) for name in unsized)}"
        handles.append(Line2D([], [], linestyle="none", label=note))
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles))
