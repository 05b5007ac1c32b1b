"""Draw Figures 2 and 3 of MORCELA, the conventions, and differences between models.

`draw` also draws the figures of `parameter_figures`.
"""

from collections.abc import Callable, Collection
from itertools import groupby

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from lingprob.figures import palette, style
from lingprob.figures.labels import (
    dataset_label,
    group_handles,
    handle,
    label_provenance,
    legend_above,
    published_handle,
    short_title,
    wrapped_title,
)
from lingprob.figures.palette import Models
from lingprob.figures.panels import blank, draw_differences, grid, whiskers
from lingprob.figures.style import draw_each
from lingprob.papers.morcela.parameter_figures import (
    FIXED,
    LABELS,
    STYLES,
    frequency_slopes,
    parameters_by_correlation,
    plot_fit,
    quality_of,
    trends,
)
from lingprob.papers.morcela.tables import (
    PAPER_DATASET,
    comparable_fits,
    default_fits,
    parameter_differences,
    slope_may_be_zero,
    with_certain_parameters,
)
from lingprob.papers.run import Run, Tables

NO_UNIGRAMS = "no model has unigrams, without which MORCELA and SLOR cannot be fitted"
ROW_INCHES = 0.2
OF_PARAMETERS = ("figure_4", "figure_5", "figure_6", "trends")


def draw(tables: Tables, run: Run, scored_first: Collection[str] = ()) -> dict[str, Figure]:
    """Return all figures of MORCELA, by name.

    Args:
        tables: `linking_functions` under all conventions, `intergroup_correlation` and
            `linking_draws`. Figure 5 needs `frequency_slopes` and `frequency_bins`, and `trends`
            needs `sentence_scores` and `stimuli`.
        scored_first: names of the BOS policies that score a sentence's first token, for `trends`.
    """
    every = tables["linking_functions"]
    fits, published = default_fits(every), comparable_fits(run.published, every)
    # Two published r disagree. The one from the SSE is known for all linking functions.
    published = published.assign(r_cv=published["r"])
    compared = ["logprob", "slor", "morcela"]
    ablated = ["slor", "morcela_gamma_0", "morcela_beta_1", "morcela"]
    correlations = (fits, published, tables["intergroup_correlation"], run)
    certain = with_certain_parameters(fits)
    parameters = (certain, published, run)
    main = PAPER_DATASET if len(published) else fits["dataset"].iloc[0]
    first, theirs = (table[table["dataset"] == main] for table in (certain, published))
    of_morcela: dict[str, Callable[[], Figure]] = {
        "figure_3": lambda: correlation_by_model(*correlations, ablated),
        "figure_4": lambda: parameters_by_correlation(*parameters, ["morcela"]),
        "figure_6": lambda: parameters_by_correlation(*parameters, ablated[1:]),
        "conventions": lambda: conventions(every, run),
        "differences": lambda: parameter_matrix(tables["linking_draws"], fits, run),
        "trends": lambda: trends(first, theirs, quality_of(tables, main, scored_first), run),
    }
    if "frequency_slopes" in tables:
        of_tokens = (tables["frequency_slopes"], tables["frequency_bins"])
        of_morcela["figure_5"] = lambda: frequency_slopes(first, *of_tokens, run)
    fitted = fits["linking_function"].eq("morcela").any()
    if not fitted:
        of_morcela = dict.fromkeys(of_morcela, lambda: blank(NO_UNIGRAMS))
    figures = draw_each(
        {"figure_2": lambda: correlation_by_model(*correlations, compared)} | of_morcela
    )
    note, left = run.model_notes(fits["model"]), uncertain_parameters(fits, run)
    for name, figure in figures.items():
        said = " ".join(filter(None, [note, left if name in OF_PARAMETERS else ""]))
        label_provenance(figure, every["scale"], every["rating_source"], note=said)
    return figures


def uncertain_parameters(fits: pd.DataFrame, run: Run) -> str:
    """Return a note on models for which figures leave out a parameter, or ''."""
    learned = fits["linking_function"].str.startswith("morcela")
    left = fits.loc[learned & slope_may_be_zero(fits), "model"]
    titles = [run.models[name]["title"] for name in dict.fromkeys(left)]
    why = "No gamma and beta, because the slope of log-probability may be 0"
    return f"{why}: {'; '.join(titles)}." if titles else ""


def correlation_by_model(
    fits: pd.DataFrame,
    published: pd.DataFrame,
    agreement: pd.DataFrame,
    run: Run,
    linking_functions: list[str],
) -> Figure:
    """Draw Figures 2 and 3: cross-validated r of each linking function, by model size.

    Rows are data sets, panels are families, with models sorted by training steps and then by size.
    Filled markers are values of this run, with 95% bootstrap intervals. Hollow markers are computed
    from the published SSE.
    """
    models, datasets = run.models, list(dict.fromkeys(fits["dataset"]))
    fits, theirs = (
        table[table["linking_function"].isin(linking_functions)] for table in (fits, published)
    )
    every = palette.in_families([*fits["model"], *theirs["model"]], models)
    panels = [
        sorted(names, key=lambda name: models[name]["place"][-1])
        for _, names in groupby(every, key=lambda name: models[name]["family"])
    ]
    shifts = np.linspace(-0.15, 0.15, len(linking_functions))
    widths = [1.2 + max(2, len(names)) for names in panels]  # a title needs room
    width = 0.32 * sum(widths) / len(widths)
    figure, axes = grid(
        len(datasets), len(panels), width=width, height=2.1, margins=(1.6, 0.8), narrowest=4.4,
        sharey=True, width_ratios=widths,
    )  # fmt: skip
    for row, dataset in zip(axes, datasets, strict=True):
        rows = [table[table["dataset"] == dataset] for table in (fits, theirs, agreement)]
        scored = pd.concat([rows[0]["model"], rows[1]["model"]])
        for ax, names in zip(row, panels, strict=True):
            ax.set_visible(scored.isin(names).any())
            for linking_function, shift in zip(linking_functions, shifts, strict=True):
                place = {name: x + shift for x, name in enumerate(names)}
                _plot_family(ax, rows[0], rows[1], place, linking_function, models)
            titles = [" ".join(short_title(name, models).split()) for name in names]
            ax.set_xticks(range(len(names)), titles, fontsize=6, rotation=90)
            ax.set_xlim(-0.6, len(names) - 0.4)
            ax.set_title(str(models[names[0]]["family_title"]))
            _draw_ceiling(ax, rows[2], run.printed(f"{dataset}/intergroup_correlation"))
        first = next((ax for ax in row if ax.get_visible()), row[0])
        first.set_ylabel(dataset_label(LABELS["r_cv"], dataset, datasets, run.titles))
        first.tick_params(labelleft=True)
    handles = linking_function_handles(linking_functions, not theirs.empty, not agreement.empty)
    legend_above(figure, handles)
    return figure


def _plot_family(
    ax: Axes,
    fits: pd.DataFrame,
    theirs: pd.DataFrame,
    place: dict[str, float],
    linking_function: str,
    models: Models,
) -> None:
    """Plot a linking function's r for the models with an x position in `place`.

    A line joins each group of a family, such as all sizes after one step of training.
    """
    _, colour, marker = STYLES[linking_function]
    of_panel, ours = (
        table[table["linking_function"] == linking_function]
        .assign(x=lambda rows: rows["model"].map(place))
        .dropna(subset=["x"])
        .sort_values("x")
        for table in (theirs, fits)
    )
    ax.plot(of_panel["x"], of_panel["r_cv"], color=colour, marker=marker, linestyle=":",
            markerfacecolor="white", linewidth=0.8)  # fmt: skip
    for _, line in ours.groupby(ours["model"].map(lambda name: models[name]["group"]), sort=False):
        errors = whiskers(line["r_cv"], line["r_cv_low"], line["r_cv_high"])
        ax.errorbar(line["x"], line["r_cv"], errors, color=colour, marker=marker, elinewidth=0.8)


def _draw_ceiling(ax: Axes, agreement: pd.DataFrame, printed: float | None) -> None:
    """Draw r between halves of the judgments, the highest possible r, and the paper's printed r."""
    if printed is not None:
        ax.axhline(printed, color=palette.GREY, linestyle=":", linewidth=0.8)
    halves = agreement[agreement["definition"] == "equal_halves"]
    for half in halves["r"]:
        ax.axhline(half, color=palette.GREY, linestyle="-.", linewidth=0.8)
        ax.axhline(highest_r(half), color=palette.BLACK, linestyle="--", linewidth=0.8)


def highest_r(half: float) -> float:
    """Return the highest correlation with mean ratings that their noise allows.

    `half` is the correlation h between means of halves of the judgments. The reliability of whole
    means is 2h / (1 + h) (Spearman and Brown), and its root bounds r.
    """
    return float(np.sqrt(2 * half / (1 + half)))


def linking_function_handles(
    linking_functions: list[str], published: bool, ceiling: bool
) -> list[Line2D]:
    """Return legend entries for linking functions and, if shown, published values and ceilings."""
    handles = [handle(*STYLES[name]) for name in linking_functions]
    if published:
        handles.append(published_handle(":"))
    if ceiling:
        handles.append(handle("highest possible r", palette.BLACK, linestyle="--"))
        handles.append(handle("r between halves of the judgments", palette.GREY, linestyle="-."))
    if published and ceiling:
        handles.append(handle("r between two groups, published", palette.GREY, linestyle=":"))
    return handles


def conventions(fits: pd.DataFrame, run: Run) -> Figure:
    """Draw MORCELA's r, beta and gamma under each BOS policy and unigram source.

    Rows are conventions, the default first. A block is one family on one data set. Each model has a
    point, darker for larger models. Hollow squares are SLOR's r. Intervals are 95%.
    """
    models = run.models
    shown = fits[fits["linking_function"].isin(["slor", "morcela"])]
    shown = with_certain_parameters(shown)
    default = shown["default_convention"].map({True: " (default)", False: ""})
    row = shown["bos"] + " | " + shown["unigrams"].map(source_name) + default
    shown = shown.assign(row=row)
    family = shown["model"].map(lambda name: models[name]["family"])
    blocks = list(shown.groupby([family, shown["dataset"]], sort=False))
    labels = [list(dict.fromkeys(block["row"])) for _, block in blocks]
    figure, axes = grid(
        len(blocks), len(LABELS), width=style.PAGE_INCHES / 3,
        height=ROW_INCHES * (sum(map(len, labels)) / len(labels) + 2), margins=(0.0, 0.9),
        sharex="col", sharey="row", height_ratios=[len(rows) + 2 for rows in labels],
        width_ratios=[1.2, 1, 1],
    )  # fmt: skip
    several = shown["dataset"].nunique() > 1
    for of_block, ((_, dataset), block), rows in zip(axes, blocks, labels, strict=True):
        for ax, quantity in zip(of_block, LABELS, strict=True):
            _plot_rows(ax, block, quantity, rows, models)
        of_block[0].set_yticks(range(len(rows)), rows, fontsize=5.5)
        of_block[0].set_ylim(len(rows) - 0.4, -0.6)
        title = str(models[block["model"].iloc[0]]["family_title"])
        of_dataset = f": {wrapped_title(dataset, run.titles, 60)}" if several else ""
        of_block[0].set_title(f"{title}{of_dataset}", loc="left")
    for ax, label in zip(axes[-1], LABELS.values(), strict=True):
        ax.set_xlabel(label)
    handles = group_handles(shown["model"], models, "none")
    slor = handle(*STYLES["slor"], "none", markerfacecolor="white")
    legend_above(figure, [*handles, slor])
    return figure


def source_name(source: str) -> str:
    """Return a unigram source's name without its model, and without `corpus_`."""
    kind, _, of = source.partition("_")
    return of if kind == "corpus" else kind if kind.startswith("unigrahams") else source


def _plot_rows(
    ax: Axes, block: pd.DataFrame, quantity: str, rows: list[str], models: Models
) -> None:
    """Plot a quantity of each model of a family in rows, models side by side by size."""
    by_size = palette.by_size(dict.fromkeys(block["model"]), models)
    shifts = dict(zip(by_size, np.linspace(-0.32, 0.32, len(by_size) + 2)[1:-1], strict=True))
    y = block["row"].map(rows.index) + block["model"].map(shifts)
    for fit in block.assign(y=y, y_low=y, y_high=y).to_dict("records"):
        if fit["linking_function"] == "morcela":
            plot_fit(ax, fit, quantity, "y", models, markersize=2.5)
        elif quantity == "r_cv":
            colour = STYLES["slor"][1]
            ax.plot(
                fit["r_cv"], fit["y"], "s", color=colour, markerfacecolor="white", markersize=2.5
            )
    if quantity in FIXED:
        ax.axvline(FIXED[quantity], color=palette.GREY, linewidth=0.8, linestyle=":")


def parameter_matrix(draws: pd.DataFrame, fits: pd.DataFrame, run: Run) -> Figure:
    """Draw differences in beta and gamma between every two models, one row per data set.

    A cell is grey if the 95% interval of the difference, over shared resamples, includes 0.
    """
    table = parameter_differences(fits, draws)
    if table.empty:
        return blank("no two models have MORCELA's fits to the same sentences")
    datasets, shown = (list(dict.fromkeys(each["dataset"])) for each in (table, fits))
    count = len({*table["model"], *table["other"]})
    figure, axes = grid(
        len(datasets), 2, width=style.PAGE_INCHES / 2, height=min(3.4, 1.8 + 0.2 * count),
        margins=(0.0, 0.4), narrowest=style.PAGE_INCHES,
    )  # fmt: skip
    for of_row, dataset in zip(axes, datasets, strict=True):
        part = table[table["dataset"] == dataset]
        names = [name for name in run.models if name in {*part["model"], *part["other"]}]
        titles = [str(run.models[name]["title"]) for name in names]
        for ax, parameter in zip(of_row, ("beta", "gamma"), strict=True):
            told = part[(part[f"{parameter}_low"] > 0) | (part[f"{parameter}_high"] < 0)]
            image = draw_differences(ax, names, told, parameter)
            figure.colorbar(image, ax=ax, shrink=0.7)
            ax.set_xticks(range(len(names)), titles, fontsize=5.5, rotation=90)
            ax.set_yticks(range(len(names)), titles, fontsize=5.5)
            name = LABELS[parameter]
            ax.set_title(f"{name}: row minus column\n(grey: interval includes 0)", fontsize=8)
        of_row[0].set_ylabel(dataset_label("", dataset, shown, run.titles))
    return figure
