"""Figure 2 of the paper on leakage, and the published fits to Natural Stories, by model size."""

from functools import partial

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import EngFormatter, NullFormatter

from lingprob.figures import palette, style
from lingprob.figures.labels import (
    group_handles,
    handle,
    label_provenance,
    legend_above,
    published_handle,
    wrapped_title,
)
from lingprob.figures.palette import Models
from lingprob.figures.panels import (
    draw_differences,
    grid,
    join_models,
    label_logarithmic,
    whiskers,
    wrapped,
)
from lingprob.figures.style import draw_each
from lingprob.papers.run import Run, Tables

COLUMNS = 4
ROW_INCHES = 1.55
# Inches in the figure of differences between models: around a panel, and per row.
DIFFERENCE_COLUMNS, MARGIN_INCHES, MODEL_INCHES = 2, 0.6, 0.09
SIGNIFICANT = 0.05
TIMES = 1000  # number of reading times to which differences are scaled
STEP_ASIDE = 0.04  # share of the axis: a marker's width
# The title of each convention of the published fits.
CONVENTIONS = {
    "compat": "as published",
    "numeric_order": "previous words of\nthe same story",
    "realigned": "and times of\nthe same words",
    "realigned_all": "and gain from\nall surprisals",
}


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw `figure_2`, and `inverse_scaling` and `model_differences` if their tables exist."""
    of_tables = {
        "figure_2": ("delta_log_likelihood", figure_2),
        "inverse_scaling": ("published_delta", inverse_scaling),
        "model_differences": ("model_differences", model_differences),
    }
    rows = {name: tables[table] for name, (table, _) in of_tables.items() if table in tables}
    figures = draw_each({name: partial(of_tables[name][1], rows[name], run) for name in rows})
    for name, figure in figures.items():
        sources = rows[name].get("rt_source", ())
        label_provenance(figure, rows[name]["scale"], sources, "reading times")
    return figures


def figure_2(deltas: pd.DataFrame, run: Run) -> Figure:
    """Draw ΔLogLik (with 95% intervals) and perplexity of every data set by model size.

    Perplexity is per word, because tokenizers differ in their tokens. Models of unknown
    size are named in the legend and not drawn. Models of one size, such as one before and after
    fine-tuning, are drawn next to each other. A cross marks a singular mixed-model fit.
    """
    datasets = list(dict.fromkeys(deltas["dataset"]))
    bands = -(-len(datasets) // COLUMNS)
    columns = min(COLUMNS, len(datasets))
    figure, axes = grid(
        2 * bands, columns, width=style.PAGE_INCHES / COLUMNS, height=ROW_INCHES,
        margins=(0.0, 0.9), sharex=True,
    )  # fmt: skip
    for number in range(bands * columns):
        upper, lower = axes[2 * (number // columns) : 2 * (number // columns) + 2, number % columns]
        if number >= len(datasets):
            upper.set_visible(False)
            lower.set_visible(False)
            continue
        part = _with_size(deltas[deltas["dataset"] == datasets[number]], run.models)
        part["place"] = side_by_side(part["parameters"])
        _by_size(upper, part, "place", "delta", run.models)
        singular = part[part["singular"].astype(bool)]
        upper.plot(singular["place"], singular["delta"], "x", color=palette.BLACK, zorder=4)
        _by_size(lower, part, "place", "word_perplexity", run.models)
        sizes = part["parameters"]
        if 1 < sizes.max() / sizes.min() < 100:  # too narrow for labels at two powers of ten
            lower.set_xticks([sizes.min(), sizes.max()])
            lower.xaxis.set_major_formatter(EngFormatter(places=0, sep=""))
        upper.set_title(wrapped_title(datasets[number], run.titles, 22))
        upper.axhline(0, color=palette.BLACK, linewidth=0.6)
        lower.set_yscale("log")
        label_logarithmic(lower.yaxis)
        lower.set_xlabel("parameters")
        lower.tick_params(labelbottom=True)
        if number % columns == 0:
            upper.set_ylabel("ΔLogLik (nats)")
            lower.set_ylabel("word perplexity")
    handles = _handles(deltas["model"], run.models)
    if deltas["singular"].any():
        handles.append(handle("singular fit", palette.BLACK, "x", "none"))
    legend_above(figure, handles)
    return figure


def inverse_scaling(fits: pd.DataFrame, run: Run) -> Figure:
    """Draw published and corrected fits to Natural Stories by model size and perplexity.

    Dashed lines are regressions within a family of published models, with slopes in nats per
    tenfold. Models of unknown size are named in the legend and not drawn. `fits` is a
    `published_delta` table.
    """
    models = run.models
    conventions = [name for name in CONVENTIONS if name in set(fits["convention"])]
    figure, axes = grid(2, len(conventions), width=style.PAGE_INCHES, height=1.75, sharex="row")
    published = set(fits.loc[fits["convention"] == "compat", "model"])
    places = {"parameters": "parameters", "word_perplexity": "perplexity (words)"}
    for column, convention in enumerate(conventions):
        part = _with_size(fits[fits["convention"] == convention], models)
        for axis, (place, label) in zip(axes[:, column], places.items(), strict=True):
            _by_size(axis, part, place, "delta", models)
            known = part[part["published_delta"].notna()]
            axis.scatter(
                known[place], known["published_delta"].astype(float),
                facecolors="none", edgecolors=palette.BLACK, s=34, linewidths=0.8, zorder=4,
            )  # fmt: skip
            _regression_lines(axis, part[part["model"].isin(published)], place, models)
            axis.set_xlabel(label)
            axis.set_ylim(bottom=min(0, axis.get_ylim()[0]))
        label_logarithmic(axes[1, column].xaxis, most=3)
        axes[0, column].set_title(CONVENTIONS[convention])
    for axis in axes[:, 0]:
        axis.set_ylabel("ΔLogLik (nats)")
    legend_above(figure, [*_handles(fits["model"], models), published_handle()])
    return figure


def model_differences(differences: pd.DataFrame, run: Run) -> Figure:
    """Draw each model's log-likelihood of 1,000 reading times minus each other's, by data set.

    The best model is on top. Cells are grey if the permutation test's p-value, corrected for all
    pairs of the data set (Holm 1979), is 0.05 or more. White is no difference.

    `differences` is a `model_differences` table.
    """
    datasets = list(dict.fromkeys(differences["dataset"]))
    most = max(len(_in_order(part)) for _, part in differences.groupby("dataset"))
    figure, panels = wrapped(
        len(datasets), columns=DIFFERENCE_COLUMNS, width=style.PAGE_INCHES / DIFFERENCE_COLUMNS,
        height=max(1.6, MARGIN_INCHES + MODEL_INCHES * most), margins=(0.0, 0.3),
    )  # fmt: skip
    for axis, dataset in zip(panels, datasets, strict=True):
        _matrix_of(axis, differences[differences["dataset"] == dataset], run)
        axis.set_title(wrapped_title(dataset, run.titles, 40))
    return figure


def _matrix_of(axis: Axes, part: pd.DataFrame, run: Run) -> None:
    names = _in_order(part)
    told = part[part["p_holm"] < SIGNIFICANT]
    told = told.assign(of_times=TIMES * told["difference"] / told["n_evaluated"])
    image, _ = draw_differences(axis, names, told, "of_times")
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.7)
    bar.set_label(f"row minus column\n(nats of {TIMES:,} times)", fontsize=6)
    titles = [str(run.models[name]["title"]) for name in names]
    axis.set_yticks(range(len(names)), titles, fontsize=4.5)
    axis.set_xticks([])
    axis.set_xlabel(
        "the same models, the best on the left; grey: Holm's p is 0.05 or more", fontsize=6
    )


def _in_order(part: pd.DataFrame) -> list[str]:
    """Return names of a data set's models by the sum of their differences, the best first."""
    both = pd.concat([part["model"], part["other"]])
    above = pd.concat([part["difference"], -part["difference"]]).groupby(both, sort=False).sum()
    return [str(name) for name in above.sort_values(ascending=False, kind="stable").index]


def _with_size(table: pd.DataFrame, models: Models) -> pd.DataFrame:
    """Return a table with each model's `parameters`, without models of unknown size."""
    sizes = table["model"].map(lambda name: models[name]["parameters"]).astype(float)
    return table.assign(parameters=sizes).dropna(subset="parameters")


def side_by_side(sizes: pd.Series) -> pd.Series:
    """Return x positions on a logarithmic axis: models of equal size lie a step apart."""
    alike = sizes.groupby(sizes)
    steps = alike.cumcount() - (alike.transform("size") - 1) / 2
    decades = max(1.0, np.log10(sizes.max() / sizes.min()))
    return sizes * 10 ** (STEP_ASIDE * decades * steps)


def _by_size(axis: Axes, table: pd.DataFrame, x: str, y: str, models: Models) -> None:
    """Draw a table's models in order of x, with one line per family and intervals of ΔLogLik."""
    table = table.sort_values(x)
    errors = None
    if y == "delta":
        errors = whiskers(table["delta"], table["delta_low"], table["delta_high"])
    join_models(axis, table, x, y, models, errors=errors)
    axis.set_xscale("log")
    axis.xaxis.set_minor_formatter(NullFormatter())


def _regression_lines(axis: Axes, part: pd.DataFrame, place: str, models: Models) -> None:
    """Draw a regression line per family of three models or more, with slopes in a corner."""
    said = []
    for family, rows in part.groupby(part["model"].map(lambda name: models[name]["family_title"])):
        if len(rows) < 3:
            continue
        x = np.log10(rows[place].to_numpy(float))
        slope, intercept = np.polyfit(x, rows["delta"].to_numpy(float), 1)
        ends, colour = np.array([x.min(), x.max()]), models[rows["model"].iloc[0]]["group_colour"]
        axis.plot(10**ends, intercept + slope * ends, color=colour, linestyle="--", linewidth=1)
        said.append((slope, f"{family}: {slope:+.0f} per tenfold"))
    falls = sum(slope for slope, _ in said) < 0
    axis.text(
        0.97 if falls else 0.03, 0.95, "\n".join(text for _, text in said), fontsize=6,
        transform=axis.transAxes, va="top", ha="right" if falls else "left", color=palette.GREY,
        bbox={"facecolor": "white", "alpha": 0.8, "linewidth": 0, "pad": 1},  # above error bars
    )  # fmt: skip


def _handles(names: pd.Series, models: Models) -> list[Line2D]:
    """Return legend entries: one per family, and one that names the models of unknown size."""
    unsized = [name for name in dict.fromkeys(names) if models[name]["parameters"] is None]
    handles = group_handles(names[~names.isin(unsized)], models)
    if unsized:
        note = f"of unknown size: {', '.join(str(models[name]['title']) for name in unsized)}"
        handles.append(handle(note, palette.BLACK, linestyle="none"))
    return handles
