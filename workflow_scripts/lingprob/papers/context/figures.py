"""Figures 2 to 8 and 15 to 17: accuracy and margins by the length of the context."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.context.names import (
    CROWS_PAIRS,
    KINDS,
    MATCHED,
    ORIGINAL,
    SYNTAXGYM,
    UNRELATED,
    figures_of,
    primary_dataset,
)
from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above
from lingprob.figures.panels import grid, in_percent, whiskers, wrapped
from lingprob.figures.style import draw_each
from lingprob.papers.context import suite_figures
from lingprob.papers.context.suite_figures import PERTURBATION_TITLES
from lingprob.papers.run import Run, Tables

# Labels of the y axis, by column.
LABELS = {
    "delta": "Change in accuracy (points)",
    "accuracy": "Antistereotypical preferred (%)",
    "margin": "Perplexity margin (per token)",
}
# Labels of the x axis, by column.
SIZES = {
    "prefix_tokens": "Length of the prefix (tokens)",
    "n_sentences": "Length of the prefix (sentences)",
}
CURVES: dict[str, Any] = {
    "width": 2.4, "height": 2.0, "margins": (1.2, 0.9), "narrowest": 3.8, "sharey": True
}  # fmt: skip
# Perturbations whose curves get a bar (95% interval). The bars of all would hide each other.
WITH_BAR = (ORIGINAL, "all")
Look = tuple[str, str]  # colour and line style
Panel = tuple[str, Sequence[str], str]  # data set, kinds of prefixes, and title
LOOKS: dict[str, Look] = {
    "matched_acceptable": (palette.GREEN, "-"),
    "matched_unacceptable": (palette.PURPLE, "--"),
    "mismatched_acceptable": (palette.ORANGE, "-"),
    "mismatched_unacceptable": (palette.RED, "--"),
    "acceptable": (palette.GREEN, "-"),
    "unacceptable": (palette.PURPLE, "--"),
    UNRELATED: (palette.SKY, ":"),
}
COLOURS = (
    palette.BLACK, palette.ORANGE, palette.SKY, palette.WINE, palette.GREEN, palette.BLUE,
    palette.OLIVE, palette.RED, palette.PURPLE,
)  # fmt: skip
PERTURBATION_COLOURS = dict(zip(PERTURBATION_TITLES, COLOURS, strict=True))


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw the figures of Sinha et al. (2023) that the data sets allow, by name.

    Args:
        tables: `context_accuracy`, `context_matrix`, `context_overlap` and `context_correlations`.
        run: its `titles` are those of the data sets, in the order of columns, and of the corpus of
            unrelated sentences.
    """
    accuracy, matrix = tables["context_accuracy"], tables["context_matrix"]
    related = tables["context_correlations"]
    primary = str(primary_dataset([*run.titles]))
    makers: dict[str, Callable[[], Figure]] = {
        "figure_2": lambda: by_dataset(accuracy, run),
        "figure_3": lambda: combined(accuracy, run, primary),
        "figure_4": lambda: matched(accuracy, run, primary),
        "figure_5": lambda: perturbed(accuracy, run),
        "figure_6": lambda: stereotypes(accuracy, run, "unacceptable"),
        "figure_7": lambda: stereotypes(accuracy, run, "acceptable"),
        "figure_8": lambda: bias_types(accuracy, run),
        "figure_9": lambda: suite_figures.perturbation_scatter(accuracy, related, run),
        "figure_10": lambda: suite_figures.metric_scatter(accuracy, related, run, MATCHED[0]),
        "figure_11": lambda: suite_figures.metric_scatter(accuracy, related, run, MATCHED[1]),
        "figure_12": lambda: suite_figures.overlaps(tables["context_overlap"]),
        "figure_13": lambda: suite_figures.suite_matrix(matrix, primary, run.models),
        "figure_14": lambda: suite_figures.relative_matrix(matrix, SYNTAXGYM, run.models),
        "figure_15": lambda: margins(accuracy, run, primary),
        "figure_16": lambda: combined(accuracy, run, SYNTAXGYM),
        "figure_17": lambda: matched(accuracy, run, SYNTAXGYM),
    }
    shown = figures_of(list(accuracy["dataset"].unique()))
    figures = draw_each({name: makers[name] for name in shown})
    for figure in figures.values():
        label_provenance(figure, accuracy["scale"])
    return figures


def by_dataset(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 2: change in accuracy by length after five kinds of prefixes.

    One row per model, one column per data set.
    """
    known = set(overall(accuracy)["dataset"])
    panels = [(name, KINDS, title) for name, title in run.titles.items() if name in known]
    return draw_curves(accuracy, run, panels, "delta")


def combined(accuracy: pd.DataFrame, run: Run, dataset: str) -> Figure:
    """Draw Figures 3 and 16: change after acceptable and unacceptable prefixes, by model."""
    kinds = ("acceptable", "unacceptable", UNRELATED)
    return draw_curves(accuracy, run, [(dataset, kinds, run.titles[dataset])], "delta")


def matched(accuracy: pd.DataFrame, run: Run, dataset: str) -> Figure:
    """Draw Figures 4 and 17: matched against mismatched prefixes, with one row per model."""
    panels = [
        (dataset, (f"matched_{side}", f"mismatched_{side}"), f"{side} prefixes")
        for side in ("acceptable", "unacceptable")
    ]
    return draw_curves(accuracy, run, panels, "delta")


def perturbed(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 5: change after each perturbation of the prefixes of the most responsive suites.

    Each model has two rows, by tokens of the prefix (as in the paper) and by its sentences, because
    fewer perturbed sentences fit into as many tokens.
    """
    rows = accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].notna()]
    models = list(rows["model"].unique())
    figure, axes = grid(2 * len(models), 2, **CURVES)
    places = product(models, SIZES, MATCHED)
    for number, (ax, (model, size, kind)) in enumerate(zip(axes.flat, places, strict=True)):
        here = rows[(rows["model"] == model) & (rows["kind"] == kind)]
        for name, colour in PERTURBATION_COLOURS.items():
            one = here[here["perturbation"] == name]
            bar = bar_at(here[size].max(), WITH_BAR.index(name)) if name in WITH_BAR else None
            curve(ax, one, "delta", (colour, "-"), bar, size)
        ax.set(xlabel=SIZES[size], ylabel="" if number % 2 else LABELS["delta"])
        ax.yaxis.set_major_formatter(in_percent())
        if size == "prefix_tokens":
            side = kind.removeprefix("matched_")
            ax.set_title(f"{run.models[model]['title']}: {side} prefixes{pairs(here)}")
    legend(figure, {PERTURBATION_TITLES[name]: (colour, "-")
                    for name, colour in PERTURBATION_COLOURS.items()})  # fmt: skip
    return figure


def stereotypes(accuracy: pd.DataFrame, run: Run, side: str) -> Figure:
    """Draw Figures 6 and 7: CrowS-Pairs after (anti)stereotypical prefixes, matched and mismatched.

    The y axis is the share of pairs whose less stereotypical sentence is preferred. 0.5 is fair.
    """
    kinds = (f"matched_{side}", f"mismatched_{side}")
    return draw_curves(accuracy, run, [(CROWS_PAIRS, kinds, run.titles[CROWS_PAIRS])], "accuracy")


def bias_types(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 8: CrowS-Pairs after antistereotypical matched prefixes (thin: bias types)."""
    kind, thin = MATCHED[0], {"Each bias type": (palette.GREY, "-")}
    rows = accuracy[(accuracy["dataset"] == CROWS_PAIRS) & (accuracy["kind"] == kind)]
    panel = (CROWS_PAIRS, (kind,), run.titles[CROWS_PAIRS])
    figure = draw_curves(rows, run, [panel], "accuracy", thin)
    suites = rows[rows["level"] == "suite"]
    for ax, model in zip(figure.axes, overall(rows)["model"].unique(), strict=True):
        for _, one in suites[suites["model"] == model].groupby("group", sort=False):
            curve(ax, one, "accuracy", thin["Each bias type"], linewidth=0.5)
    return figure


def margins(accuracy: pd.DataFrame, run: Run, dataset: str) -> Figure:
    """Draw Figure 15: mean perplexity margin by prefix length (dashed: without a prefix)."""
    panel = (dataset, KINDS, run.titles[dataset])
    alone = {"Without a prefix": (palette.BLACK, "--")}
    return draw_curves(accuracy, run, [panel], "margin", alone)


def draw_curves(
    accuracy: pd.DataFrame,
    run: Run,
    panels: Sequence[Panel],
    column: str,
    more: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw these panels for each model, in a row if there are several, with one curve per kind.

    `column` is delta, accuracy or margin. `more` has additional entries of the legend.
    """
    rows = overall(accuracy)
    rows = rows[rows["dataset"].isin([dataset for dataset, _, _ in panels])]
    models = list(rows["model"].unique())
    columns = len(panels) if len(panels) > 1 else max(1, min(3, len(models)))
    figure, axes = wrapped(len(models) * len(panels), columns=columns, **CURVES)
    entries = {}
    places = zip(axes, product(models, panels), strict=True)
    for number, (ax, (model, (dataset, kinds, title))) in enumerate(places):
        here = rows[(rows["model"] == model) & (rows["dataset"] == dataset)]
        here = here[here["kind"].isin(kinds)]
        for place, kind in enumerate(kinds):
            bar = bar_at(here["prefix_tokens"].max(), place)
            curve(ax, here[here["kind"] == kind], column, LOOKS[kind], bar)
            entries[label(kind, run, dataset if len(panels) == 1 else "")] = LOOKS[kind]
        if column != "margin":
            ax.yaxis.set_major_formatter(in_percent())
        if column == "accuracy":
            ax.axhline(0.5, color=palette.BLACK, linewidth=0.8, linestyle=":")
        if column == "margin":
            alone = here["baseline_margin"].iloc[0]
            ax.axhline(alone, color=palette.BLACK, linewidth=0.8, linestyle="--")
        ax.set_title(f"{run.models[model]['title']}: {title}{pairs(here)}")
        ax.set(xlabel=SIZES["prefix_tokens"], ylabel="" if number % columns else LABELS[column])
    legend(figure, entries | dict(more or {}))
    return figure


def overall(accuracy: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of `context_accuracy` over all pairs, after unperturbed prefixes."""
    return accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].isna()]


def label(kind: str, run: Run, dataset: str = "") -> str:
    """Return the name of a kind of prefixes for a legend, in the terms of a data set if given."""
    if kind == UNRELATED:
        return str(run.titles[UNRELATED])
    named = kind.replace("_", ", ")
    if dataset == CROWS_PAIRS:
        named = named.replace("unacceptable", "stereotypical")
        named = named.replace("acceptable", "antistereotypical")
    return named.capitalize()


def pairs(rows: pd.DataFrame) -> str:
    """Return a line for a title: over how many pairs or items a panel's curves average."""
    return f"\nn = {rows['n_pairs'].max():,}" if len(rows) else ""


def bar_at(end: float, place: int) -> float:
    """Return the x coordinate of a bar, beyond the end of all curves in a panel."""
    return end * (1.03 + 0.03 * place)


def curve(
    ax: Axes,
    rows: pd.DataFrame,
    column: str,
    look: Look,
    bar: float | None = None,
    size: str = "prefix_tokens",
    **line: Any,
) -> None:
    """Draw one column against the mean size of prefixes, starting at no prefix.

    A bar at x = `bar` is the 95% interval at the curve's end. It is omitted if `bar` is None.
    """
    if rows.empty:
        return
    rows = rows.sort_values("length")
    # At the greatest length every prefix has at least one sentence, so no pair is missing.
    last = rows.iloc[-1]
    first = {"delta": 0.0, "accuracy": last["baseline"], "margin": last["baseline_margin"]}[column]
    colour, linestyle = look
    ax.plot([0.0, *rows[size]], [first, *rows[column]], color=colour, linestyle=linestyle, **line)
    if bar is not None:
        ends = (last[f"{column}_low"], last[f"{column}_high"])
        ax.errorbar(
            bar, last[column], whiskers(last[column], *ends),
            color=colour, marker=".", markersize=3, linewidth=1.0, capsize=1.5,
        )  # fmt: skip


def legend(figure: Figure, entries: Mapping[str, Look]) -> None:
    """Put one legend above all panels, and draw a line at 0."""
    low, high = figure.axes[0].get_ylim()
    for ax in figure.axes:
        if low <= 0 <= high:
            ax.axhline(0, color=palette.GREY, linewidth=0.7)
    handles = [handle(name, colour, linestyle=line) for name, (colour, line) in entries.items()]
    legend_above(figure, handles, columns=4)
