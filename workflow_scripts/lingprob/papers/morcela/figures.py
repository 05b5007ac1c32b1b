"""All figures of MORCELA, and 2 and 3: what each linking function reaches (Tjuatja et al. 2025)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette
from lingprob.figures.labels import (
    dataset_label,
    label_provenance,
    legend_above,
    short_title,
)
from lingprob.figures.palette import Models
from lingprob.figures.panels import blank, grid, whiskers
from lingprob.papers.contract import Run, Tables
from lingprob.papers.ladder import without_ladder
from lingprob.papers.morcela.comparison_figures import parameter_matrix
from lingprob.papers.morcela.convention_figures import conventions
from lingprob.papers.morcela.fits import (
    default_fits,
    determined,
    main_dataset,
    may_lack_logprob,
    printed_agreement,
    published_fits,
)
from lingprob.papers.morcela.ladder_figure import ladder
from lingprob.papers.morcela.looks import (
    LOOKS,
    NAMES,
    NO_UNIGRAMS,
    R_LABEL,
    linking_function_handles,
)
from lingprob.papers.morcela.parameter_figures import frequency_slopes, parameters_by_correlation

# Models, and panels, of which the names that slant do not meet.
MOST_SLANTED = 24
OF_PARAMETERS = ("figure_4", "figure_5", "figure_6", "ladder")


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw the paper's figures and ours, by name.

    Args:
        tables: `linking_functions` under all conventions (figures show each model's default one),
            `intergroup_correlation` and `draws`; where there are any, of Figure 5 `slopes` and
            `bins`, and of `ladder` `sentence_scores` and `stimuli`.
        run: with the paper's numbers, which stand beside ours, and the options `bos_policies`, the
            catalog's, and `ladder`, what models are one of several of (`papers.ladder`).
    """
    every = tables["linking_functions"]
    fits, published = default_fits(every), published_fits(run.published, every)
    # Of two published r that are at odds, the one that all linking functions have.
    published = published.assign(r_cv=published["r"])
    compared = ["logprob", "slor", "morcela"]
    ablated = ["slor", "morcela_gamma_0", "morcela_beta_1", "morcela"]
    correlations = (fits, published, tables["intergroup_correlation"], run)
    parameters = (determined(fits), published, run)
    figures = {"figure_2": correlation_by_model(*correlations, compared)}
    of_morcela: dict[str, Callable[[], Figure]] = {
        "figure_3": lambda: correlation_by_model(*correlations, ablated),
        "figure_4": lambda: parameters_by_correlation(*parameters, ["morcela"]),
        "figure_6": lambda: parameters_by_correlation(*parameters, ablated[1:]),
        "conventions": lambda: conventions(every, run),
        "differences": lambda: parameter_matrix(
            without_ladder(tables["draws"], run.options.get("ladder", {})), fits, run
        ),
    }
    first, theirs = (table[table["dataset"] == main_dataset(fits)] for table in (fits, published))
    if "sentence_scores" in tables:
        of_morcela["ladder"] = lambda: ladder(determined(first), theirs, tables, run)
    if "slopes" in tables:
        of_tokens = (tables["slopes"], tables["bins"])
        of_morcela["figure_5"] = lambda: frequency_slopes(determined(first), *of_tokens, run)
    fitted = fits["linking_function"].eq("morcela").any()
    for name, draw_one in of_morcela.items():
        figures[name] = draw_one() if fitted else blank(NO_UNIGRAMS)
    notes = dict.fromkeys(str(run.models[name]["note"]) for name in fits["model"])
    note = " ".join(filter(None, notes))
    left = undetermined(fits, run)
    for name, figure in figures.items():
        said = " ".join(filter(None, [note, left if name in OF_PARAMETERS else ""]))
        label_provenance(figure, every["scale"], every["rating_source"], note=said)
    return figures


def undetermined(fits: pd.DataFrame, run: Run) -> str:
    """Return what figures say of models whose parameters they leave out; nothing of none.

    Parameters are MORCELA's, or those of a function that sets one of them, which is named.
    """
    learned = fits["linking_function"].str.startswith("morcela")
    left = fits.loc[learned & may_lack_logprob(fits), ["model", "linking_function"]]
    titles = [
        str(run.models[name]["title"])
        + ("" if "morcela" in some.to_numpy() else f" ({', '.join(NAMES[one] for one in some)})")
        for name, some in left.groupby("model", sort=False)["linking_function"]
    ]
    why = "Without gamma and beta, for their log-probabilities' slope may be 0"
    return f"{why}: {'; '.join(titles)}." if titles else ""


def correlation_by_model(
    fits: pd.DataFrame,
    published: pd.DataFrame,
    agreement: pd.DataFrame,
    run: Run,
    linking_functions: list[str],
) -> Figure:
    """Figures 2 and 3: cross-validated r of each linking function, by model size.

    A row a data set, a panel a family that has scores there. Filled markers are ours, with 95%
    bootstrap intervals of the cross-validated r; hollow ones the published values, of the published
    SSE, beside the paper's data set alone.
    """
    models, datasets = run.models, list(dict.fromkeys(fits["dataset"]))
    fits, theirs = (
        table[table["linking_function"].isin(linking_functions)] for table in (fits, published)
    )
    panels = family_panels(fits, theirs, models)
    shifts = np.linspace(-0.15, 0.15, len(linking_functions))
    widths = [1.2 + len(names) for names in panels.values()]
    width = 0.32 * sum(widths) / len(widths)
    figure, axes = grid(
        len(datasets), len(panels), width=width, height=2.1, margins=(1.6, 0.8), narrowest=4.4,
        sharey=True, width_ratios=widths,
    )  # fmt: skip
    for row, dataset in zip(axes, datasets, strict=True):
        rows = [table[table["dataset"] == dataset] for table in (fits, theirs, agreement)]
        scored = pd.concat([rows[0]["model"], rows[1]["model"]])
        for ax, names in zip(row, panels.values(), strict=True):
            ax.set_visible(scored.isin(names).any())
            for linking_function, shift in zip(linking_functions, shifts, strict=True):
                place = {name: x + shift for x, name in enumerate(names)}
                _plot_family(ax, rows[0], rows[1], place, linking_function, models)
            _name_models(ax, names, models, upright=sum(widths) > MOST_SLANTED)
            ax.set_xlim(-0.6, len(names) - 0.4)
            ax.set_title(str(models[names[0]]["family_title"]))
            _draw_ceiling(ax, rows[2], printed_agreement(run.published, dataset))
        first = next((ax for ax in row if ax.get_visible()), row[0])
        first.set_ylabel(dataset_label(R_LABEL, dataset, datasets, run.titles))
        first.tick_params(labelleft=True)
    handles = linking_function_handles(linking_functions, not theirs.empty, not agreement.empty)
    legend_above(figure, handles)
    return figure


def family_panels(
    fits: pd.DataFrame, published: pd.DataFrame, models: Models
) -> dict[str, list[str]]:
    """Group the models that have a point by family, our families first; each by the steps of its
    training where it was kept before the end, and by size."""
    names = [*fits["model"], *(published["model"] if len(published) else [])]
    panels: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        panels.setdefault(models[name]["family"], []).append(name)
    return {
        family: sorted(palette.by_size(group, models), key=lambda name: steps_of(name, models))
        for family, group in panels.items()
    }


def steps_of(name: str, models: Models) -> int:
    """Return after how many steps of its training a model was kept, a large number at the end."""
    return int((models[name].get("place") or [palette.LAST])[-1])


def _name_models(ax: Axes, names: list[str], models: Models, upright: bool) -> None:
    """Name the models of a panel below it: upright if asked to, or where names of two lines would
    meet."""
    titles = [short_title(name, models) for name in names]
    if len(names) > 1 and (upright or any("\n" in title for title in titles)):
        titles = [" ".join(title.split()) for title in titles]
        ax.tick_params(axis="x", rotation=90, labelsize=6)
    else:
        ax.tick_params(axis="x", rotation=45)
    ax.set_xticks(range(len(names)), titles)


def _plot_family(
    ax: Axes,
    fits: pd.DataFrame,
    theirs: pd.DataFrame,
    place: dict[str, float],
    linking_function: str,
    models: Models,
) -> None:
    """Plot one linking function's r for the models that have a place on the x axis: a line a group
    of a family, such as the sizes after one step of their trainings."""
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
    ours = ours.assign(x=ours["model"].map(place)).dropna(subset=["x"]).sort_values("x")
    for _, line in ours.groupby(ours["model"].map(lambda name: models[name]["group"]), sort=False):
        ax.errorbar(
            line["x"],
            line["r_cv"],
            yerr=whiskers(line["r_cv"], line["r_cv_low"], line["r_cv_high"]),
            color=colour,
            marker=marker,
            elinewidth=0.8,
        )


def _draw_ceiling(ax: Axes, agreement: pd.DataFrame, printed: float | None) -> None:
    """Draw how well halves of a sentence's judgments agree, what r that leaves to a model, and the
    agreement that the paper prints."""
    if printed is not None:
        ax.axhline(printed, color=palette.GREY, linestyle=":", linewidth=0.8)
    halves = agreement[agreement["definition"] == "equal_halves"]
    for half in halves["r"]:
        ax.axhline(half, color=palette.GREY, linestyle="-.", linewidth=0.8)
        ax.axhline(highest_r(half), color=palette.BLACK, linestyle="--", linewidth=0.8)


def highest_r(half: float) -> float:
    """Return the highest correlation with mean ratings that noise in them allows.

    `half` is the correlation between means of halves of the judgments. Spearman and Brown's formula
    gives the reliability of the whole means, 2h / (1 + h); its root bounds r with them.
    """
    return float(np.sqrt(2 * half / (1 + half)))
