"""Figures 2 to 8 and 15 to 17: accuracy and margins by the length of the context."""

from collections.abc import Callable, Mapping, Sequence
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
from lingprob.papers.context.suite_figures import (
    PERTURBATION_TITLES,
    metric_scatter,
    overlaps,
    perturbation_scatter,
    relative_matrix,
    suite_matrix,
)
from lingprob.papers.run import Run, Tables

DELTA = "Change in accuracy (points)"
ANTISTEREOTYPICAL = "Antistereotypical preferred (%)"
# Labels of the x axis, by column.
SIZES = {
    "prefix_tokens": "Length of the prefix (tokens)",
    "n_sentences": "Length of the prefix (sentences)",
}
CURVES: dict[str, Any] = {
    "width": 2.4, "height": 2.0, "margins": (1.2, 0.9), "narrowest": 3.8, "sharey": True
}  # fmt: skip
# The smallest range of an axis of accuracies.
FLAT = 0.1
# Perturbations whose curves get a bar (95% interval).
WITH_BAR = (ORIGINAL, "all")
# Smallest number of suites (or pairs of one suite) for a bar.
FEWEST_UNITS = 5
Look = tuple[str, str]  # colour and line style
LOOKS: dict[str, Look] = {
    "matched_acceptable": (palette.GREEN, "-"),
    "matched_unacceptable": (palette.PURPLE, "--"),
    "mismatched_acceptable": (palette.ORANGE, "-"),
    "mismatched_unacceptable": (palette.RED, "--"),
    "acceptable": (palette.GREEN, "-"),
    "unacceptable": (palette.PURPLE, "--"),
    UNRELATED: (palette.SKY, ":"),
}
PERTURBATION_COLOURS = dict(
    zip(
        PERTURBATION_TITLES,
        (palette.BLACK, palette.ORANGE, palette.SKY, palette.WINE, palette.GREEN, palette.BLUE,
         palette.OLIVE, palette.RED, palette.PURPLE),
        strict=True,
    )
)  # fmt: skip


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
        "figure_9": lambda: perturbation_scatter(accuracy, related, run),
        "figure_10": lambda: metric_scatter(accuracy, related, run, MATCHED[0]),
        "figure_11": lambda: metric_scatter(accuracy, related, run, MATCHED[1]),
        "figure_12": lambda: overlaps(tables["context_overlap"]),
        "figure_13": lambda: suite_matrix(matrix, primary, run.models),
        "figure_14": lambda: relative_matrix(matrix, SYNTAXGYM, run.models),
        "figure_15": lambda: margins(accuracy, run),
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
    rows = overall(accuracy)
    datasets = [name for name in run.titles if name in set(rows["dataset"])]
    models = list(rows["model"].unique())
    figure, axes = grid(len(models), len(datasets), **CURVES)
    for line, model in zip(axes, models, strict=True):
        for ax, dataset in zip(line, datasets, strict=True):
            here = rows[(rows["model"] == model) & (rows["dataset"] == dataset)]
            curves(ax, here, KINDS, "delta")
            ax.set_title(f"{run.models[model]['title']}: {run.titles[dataset]}{pairs(here)}")
            finish(ax, DELTA if ax is line[0] else "")
    legend(figure, {label(kind, run): LOOKS[kind] for kind in KINDS})
    return figure


def combined(accuracy: pd.DataFrame, run: Run, dataset: str) -> Figure:
    """Draw Figures 3 and 16: change after acceptable and unacceptable prefixes, by model."""
    kinds = ("acceptable", "unacceptable", UNRELATED)
    return one_row(accuracy, run, dataset, kinds, "delta", DELTA)


def matched(accuracy: pd.DataFrame, run: Run, dataset: str) -> Figure:
    """Draw Figures 4 and 17: matched against mismatched prefixes, with one row per model."""
    rows = overall(accuracy)
    rows = rows[rows["dataset"] == dataset]
    models = list(rows["model"].unique())
    figure, axes = grid(len(models), 2, **CURVES)
    for line, model in zip(axes, models, strict=True):
        here = rows[rows["model"] == model]
        for ax, side in zip(line, ("acceptable", "unacceptable"), strict=True):
            kinds = (f"matched_{side}", f"mismatched_{side}")
            curves(ax, here, kinds, "delta")
            shown = here[here["kind"].isin(kinds)]
            ax.set_title(f"{run.models[model]['title']}: {side} prefixes{pairs(shown)}")
            finish(ax, DELTA if ax is line[0] else "")
    legend(figure, {label(kind, run): LOOKS[kind] for kind in KINDS if kind != UNRELATED})
    return figure


def perturbed(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 5: change after each perturbation of the prefixes of the most responsive suites.

    Each model has two rows, by tokens of the prefix (as in the paper) and by its sentences, because
    fewer perturbed sentences fit into as many tokens.
    """
    rows = accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].notna()]
    models = list(rows["model"].unique())
    figure, axes = grid(2 * len(models), 2, **CURVES)
    for number, model in enumerate(models):
        for column, kind in enumerate(MATCHED):
            here = rows[(rows["model"] == model) & (rows["kind"] == kind)]
            for size, ax in zip(SIZES, axes[2 * number : 2 * number + 2, column], strict=True):
                for name, colour in PERTURBATION_COLOURS.items():
                    one = here[here["perturbation"] == name]
                    # The bars of all curves would hide each other.
                    bar = WITH_BAR.index(name) if name in WITH_BAR else None
                    place = None if bar is None else bar_at(here[size].max(), bar)
                    curve(ax, one, "delta", (colour, "-"), place, size)
                finish(ax, "" if column else DELTA, size)
            side = kind.removeprefix("matched_")
            title = f"{run.models[model]['title']}: {side} prefixes{pairs(here)}"
            axes[2 * number, column].set_title(title)
    legend(figure, {PERTURBATION_TITLES[name]: (colour, "-")
                    for name, colour in PERTURBATION_COLOURS.items()})  # fmt: skip
    return figure


def stereotypes(accuracy: pd.DataFrame, run: Run, side: str) -> Figure:
    """Draw Figures 6 and 7: CrowS-Pairs after (anti)stereotypical prefixes, matched and mismatched.

    The y axis is the share of pairs whose less stereotypical sentence is preferred. 0.5 is fair.
    """
    kinds = (f"matched_{side}", f"mismatched_{side}")
    figure = one_row(accuracy, run, CROWS_PAIRS, kinds, "accuracy", ANTISTEREOTYPICAL)
    for ax in figure.axes:
        ax.axhline(0.5, color=palette.BLACK, linewidth=0.8, linestyle=":")
    return figure


def bias_types(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 8: CrowS-Pairs after antistereotypical matched prefixes (thin: bias types)."""
    kind, thin = MATCHED[0], {"Each bias type": (palette.GREY, "-")}
    figure = one_row(accuracy, run, CROWS_PAIRS, (kind,), "accuracy", ANTISTEREOTYPICAL, thin)
    of_kind = (accuracy["dataset"] == CROWS_PAIRS) & (accuracy["kind"] == kind)
    rows = accuracy[of_kind & (accuracy["level"] == "suite")]
    models = overall(accuracy[of_kind])["model"].unique()
    for ax, model in zip(figure.axes, models, strict=True):
        for _, one in rows[rows["model"] == model].groupby("group", sort=False):
            curve(ax, one, "accuracy", thin["Each bias type"], linewidth=0.5)
        ax.axhline(0.5, color=palette.BLACK, linewidth=0.8, linestyle=":")
    return figure


def margins(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Draw Figure 15: mean perplexity margin by prefix length (dashed: without a prefix)."""
    primary = str(primary_dataset([*run.titles]))
    alone = {"Without a prefix": (palette.BLACK, "--")}
    label_of_axis = "Perplexity margin (per token)"
    figure = one_row(accuracy, run, primary, KINDS, "margin", label_of_axis, alone)
    rows = overall(accuracy)
    baselines = rows[rows["dataset"] == primary].groupby("model", sort=False)["baseline_margin"]
    for ax, baseline in zip(figure.axes, baselines.first(), strict=True):
        ax.axhline(baseline, color=palette.BLACK, linewidth=0.8, linestyle="--")
    return figure


def one_row(
    accuracy: pd.DataFrame,
    run: Run,
    dataset: str,
    kinds: Sequence[str],
    column: str,
    axis_label: str,
    more: Mapping[str, Look] | None = None,
) -> Figure:
    """Draw one panel per model, three in a row, with one curve per kind.

    `more` has additional entries of the legend.
    """
    rows = overall(accuracy)
    rows = rows[rows["dataset"] == dataset]
    models = list(rows["model"].unique())
    columns = max(1, min(3, len(models)))
    figure, panels = wrapped(len(models), columns=columns, **CURVES)
    for number, (ax, model) in enumerate(zip(panels, models, strict=True)):
        here = rows[rows["model"] == model]
        curves(ax, here, kinds, column)
        ax.set_title(f"{run.models[model]['title']}: {run.titles[dataset]}{pairs(here)}")
        finish(ax, "" if number % columns else axis_label, percent=column != "margin")
    legend(figure, {label(kind, run, dataset): LOOKS[kind] for kind in kinds} | dict(more or {}))
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


def curves(ax: Axes, rows: pd.DataFrame, kinds: Sequence[str], column: str) -> None:
    """Draw `column` against prefix length: one curve per kind of prefix, each with a 95% bar."""
    end = rows["prefix_tokens"].max()
    for place, kind in enumerate(kinds):
        curve(ax, rows[rows["kind"] == kind], column, LOOKS[kind], bar_at(end, place))


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

    A bar at x = `bar` is the 95% interval at the curve's end. It is omitted if `bar` is None, or
    for fewer than FEWEST_UNITS suites.
    """
    if rows.empty:
        return
    rows = rows.sort_values("length")
    # At the greatest length every prefix has at least one sentence, so no pair is missing.
    last = rows.iloc[-1]
    first = {"delta": 0.0, "accuracy": last["baseline"], "margin": last["baseline_margin"]}[column]
    colour, linestyle = look
    ax.plot([0.0, *rows[size]], [first, *rows[column]], color=colour, linestyle=linestyle, **line)
    units = last["n_suites"] if last["n_suites"] > 1 else last["n_pairs"]
    if bar is not None and units >= FEWEST_UNITS:
        ends = (last[f"{column}_low"], last[f"{column}_high"])
        ax.errorbar(
            bar, last[column], whiskers(last[column], *ends),
            color=colour, marker=".", markersize=3, linewidth=1.0, capsize=1.5,
        )  # fmt: skip


def finish(ax: Axes, axis_label: str, size: str = "prefix_tokens", percent: bool = True) -> None:
    """Label a panel. Changes are in percentage points, accuracies in percent."""
    ax.set_xlabel(SIZES[size])
    ax.set_ylabel(axis_label)
    if percent:
        ax.yaxis.set_major_formatter(in_percent())


def legend(figure: Figure, entries: Mapping[str, Look]) -> None:
    """Put one legend above all panels, draw a line at 0, and widen the y axis of flat curves."""
    low, high = figure.axes[0].get_ylim()
    if high - low < FLAT:
        figure.axes[0].set_ylim((low + high - FLAT) / 2, (low + high + FLAT) / 2)
    for ax in figure.axes:
        if low <= 0 <= high:
            ax.axhline(0, color=palette.GREY, linewidth=0.7)
    handles = [handle(name, colour, linestyle=line) for name, (colour, line) in entries.items()]
    legend_above(figure, handles, columns=4)
