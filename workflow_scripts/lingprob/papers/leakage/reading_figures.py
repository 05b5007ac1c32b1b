"""Figure 2 of the paper on leakage, and the published fits to Natural Stories, by model size."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter

from lingprob.figures import labels, palette, panels, style
from lingprob.figures.palette import Models
from lingprob.papers.run import Run, Tables

COLUMNS = 4
ROW_INCHES = 1.55
# Inches in the figure of differences between models: around a panel, and per row.
DIFFERENCE_COLUMNS, MARGIN_INCHES, MODEL_INCHES = 2, 0.6, 0.09
SIGNIFICANT = 0.05
TIMES = 1000  # number of reading times to which differences are scaled
# The title of each convention of the published fits.
CONVENTIONS = {
    "compat": "as published",
    "numeric_order": "previous words of\nthe same story",
    "realigned": "and times of\nthe same words",
    "realigned_all": "and gain from\nall surprisals",
}


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw `figure_2`, and `inverse_scaling` and `model_differences` if their tables exist."""
    makers = {
        "figure_2": (figure_2, tables["delta_log_likelihood"]),
        "inverse_scaling": (inverse_scaling, tables.get("published_delta")),
        "model_differences": (model_differences, tables.get("model_differences")),
    }
    rows = {name: table for name, (_, table) in makers.items() if table is not None}
    figures = style.draw_each({name: partial(makers[name][0], rows[name], run) for name in rows})
    for name, figure in figures.items():
        sources = rows[name].get("rt_source", ())
        labels.label_provenance(figure, rows[name]["scale"], sources, "reading times")
    return figures


def figure_2(deltas: pd.DataFrame, run: Run) -> Figure:
    """Draw ΔLogLik (with 95% intervals) and perplexity of every data set by model size.

    Perplexity is per word, because tokenizers differ in their tokens. Models of unknown
    size are named in the legend and not drawn. A cross marks a singular mixed-model fit.
    """
    datasets = list(dict.fromkeys(deltas["dataset"]))
    columns = min(COLUMNS, len(datasets))
    figure, axes = panels.grid(
        2 * -(-len(datasets) // columns), columns, width=style.PAGE_INCHES / COLUMNS,
        height=ROW_INCHES, margins=(0.0, 0.9), sharex=True,
    )  # fmt: skip
    uppers, lowers = axes[::2].ravel(), axes[1::2].ravel()
    for ax in (*uppers[len(datasets) :], *lowers[len(datasets) :]):
        ax.set_visible(False)
    for dataset, upper, lower in zip(datasets, uppers, lowers, strict=False):
        part = _with_size(deltas[deltas["dataset"] == dataset], run.models)
        _by_size(upper, part, "parameters", "delta", run.models)
        singular = part[part["singular"].astype(bool)]
        upper.plot(singular["parameters"], singular["delta"], "x", color=palette.BLACK, zorder=4)
        upper.set_title(labels.wrapped_title(dataset, run.titles, 22))
        upper.axhline(0, color=palette.BLACK, linewidth=0.6)
        _by_size(lower, part, "parameters", "word_perplexity", run.models)
        lower.set_yscale("log")
        panels.label_logarithmic(lower.yaxis)
        lower.set_xticks(sorted({*part["parameters"].agg(["min", "max"]).dropna()}))
        lower.xaxis.set_major_formatter(lambda n, _: style.plain_number(float(f"{n:.3g}")))
        lower.set_xlabel(panels.SIZE_LABEL)
        lower.tick_params(labelbottom=True)
    for upper, lower in zip(axes[::2, 0], axes[1::2, 0], strict=True):
        upper.set_ylabel("ΔLogLik (nats)")
        lower.set_ylabel("Word perplexity")
    handles = _handles(deltas["model"], run.models)
    if deltas["singular"].any():
        handles.append(labels.handle("singular fit", palette.BLACK, "x", "none"))
    labels.legend_above(figure, handles)
    return figure


def inverse_scaling(fits: pd.DataFrame, run: Run) -> Figure:
    """Draw published and corrected fits to Natural Stories by model size and perplexity.

    Dashed lines are regressions within a family of published models, with slopes in nats per
    tenfold. Models of unknown size are named in the legend and not drawn. `fits` is a
    `published_delta` table.
    """
    models = run.models
    conventions = [name for name in CONVENTIONS if name in set(fits["convention"])]
    figure, axes = panels.grid(
        2, len(conventions), width=style.PAGE_INCHES, height=1.9, sharex="row"
    )
    published = set(fits.loc[fits["convention"] == "compat", "model"])
    places = {"parameters": panels.SIZE_LABEL, "word_perplexity": "Word perplexity"}
    for column, convention in enumerate(conventions):
        part = _with_size(fits[fits["convention"] == convention], models)
        for axis, (place, label) in zip(axes[:, column], places.items(), strict=True):
            _by_size(axis, part, place, "delta", models)
            known = part[part["published_delta"].notna()]
            axis.scatter(
                known[place], known["published_delta"].astype(float),
                facecolors="none", edgecolors=palette.BLACK, s=34, linewidths=0.8, zorder=4,
            )  # fmt: skip
            slopes = _regression_lines(axis, part[part["model"].isin(published)], place, models)
            axis.set_xlabel("\n".join([label, *slopes]), fontsize=6)
            axis.set_ylim(bottom=min(0, axis.get_ylim()[0]))
        panels.label_logarithmic(axes[1, column].xaxis, most=3)
        axes[0, column].set_title(CONVENTIONS[convention])
    for axis in axes[:, 0]:
        axis.set_ylabel("ΔLogLik (nats)")
    labels.legend_above(figure, [*_handles(fits["model"], models), labels.published_handle()])
    return figure


def model_differences(differences: pd.DataFrame, run: Run) -> Figure:
    """Draw each model's log-likelihood of 1,000 reading times minus each other's, by data set.

    The best model is on top. Cells are grey if the permutation test's p-value, corrected for all
    pairs of the data set (Holm 1979), is 0.05 or more. White is no difference.

    `differences` is a `model_differences` table.
    """
    parts = dict(tuple(differences.groupby("dataset", sort=False)))
    orders = [_in_order(part) for part in parts.values()]
    figure, axes = panels.wrapped(
        len(parts), columns=DIFFERENCE_COLUMNS, width=style.PAGE_INCHES / DIFFERENCE_COLUMNS,
        height=max(1.6, MARGIN_INCHES + MODEL_INCHES * max(map(len, orders))), margins=(0.0, 0.3),
    )  # fmt: skip
    for axis, names, (dataset, part) in zip(axes, orders, parts.items(), strict=True):
        told = part[part["p_holm"] < SIGNIFICANT]
        told = told.assign(of_times=TIMES * told["difference"] / told["n_evaluated"])
        image = panels.draw_differences(axis, names, told, "of_times")
        bar = figure.colorbar(image, ax=axis, shrink=0.7)
        bar.set_label(f"row minus column\n(nats of {TIMES:,} times)", fontsize=6)
        titles = [str(run.models[name]["title"]) for name in names]
        axis.set_yticks(range(len(names)), titles, fontsize=4.5)
        axis.set_xticks([])
        note = "the same models, the best on the left; grey: Holm's p is 0.05 or more"
        axis.set_xlabel(note, fontsize=6)
        axis.set_title(labels.wrapped_title(dataset, run.titles, 40))
    return figure


def _in_order(part: pd.DataFrame) -> list[str]:
    """Return names of a data set's models by the sum of their differences, the best first."""
    both = pd.concat([part["model"], part["other"]])
    above = pd.concat([part["difference"], -part["difference"]]).groupby(both, sort=False).sum()
    return [str(name) for name in above.sort_values(ascending=False, kind="stable").index]


def _with_size(table: pd.DataFrame, models: Models) -> pd.DataFrame:
    """Return a table with each model's `parameters`, without models of unknown size."""
    sizes = table["model"].map(lambda name: models[name]["parameters"]).astype(float)
    return table.assign(parameters=sizes).dropna(subset="parameters")


def _by_size(axis: Axes, table: pd.DataFrame, x: str, y: str, models: Models) -> None:
    """Draw a table's models in order of x, with one line per family and intervals of ΔLogLik."""
    panels.draw_models(axis, table.sort_values(x), x, y, models)
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())


def _regression_lines(axis: Axes, part: pd.DataFrame, place: str, models: Models) -> list[str]:
    """Draw a regression line per family of three models or more. Return their slopes as text."""
    slopes = []
    for family, rows in part.groupby(part["model"].map(lambda name: models[name]["family_title"])):
        if len(rows) < 3:
            continue
        x = np.log10(rows[place].to_numpy(float))
        slope, intercept = np.polyfit(x, rows["delta"].to_numpy(float), 1)
        ends, colour = np.array([x.min(), x.max()]), models[rows["model"].iloc[0]]["group_colour"]
        axis.plot(10**ends, intercept + slope * ends, color=colour, linestyle="--", linewidth=1)
        slopes.append(f"{family}: {slope:+.0f} per tenfold")
    return slopes


def _handles(names: pd.Series, models: Models) -> list[Line2D]:
    """Return legend entries: one per family, and one that names the models of unknown size."""
    unsized = [name for name in dict.fromkeys(names) if models[name]["parameters"] is None]
    handles = labels.group_handles(names[~names.isin(unsized)], models)
    if unsized:
        note = f"of unknown size: {', '.join(str(models[name]['title']) for name in unsized)}"
        handles.append(labels.handle(note, palette.BLACK, linestyle="none"))
    return handles
