"""Figures 2 to 8 and 15 to 17: accuracy and margins by the length of the context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pandas as pd
from matplotlib.figure import Figure

from lingprob.context.names import (
    CROWS_PAIRS,
    KINDS,
    OWN,
    SHARED,
    SYNTAXGYM,
    UNRELATED,
    figures_of,
    primary_dataset,
)
from lingprob.figures import palette
from lingprob.figures.labels import handle, label_provenance, legend_above
from lingprob.figures.panels import grid, in_percent, wrapped
from lingprob.figures.style import draw_each
from lingprob.papers.context.curves import (
    COLOURS,
    CURVES,
    DELTA,
    curve,
    dash,
    finish,
    label,
    legend,
    models_of,
    overall,
    pairs,
)
from lingprob.papers.context.matrix_figures import (
    metric_scatter,
    overlaps,
    relative_matrix,
    suite_matrix,
)
from lingprob.papers.context.perturbation_figures import perturbation_scatter, perturbed
from lingprob.papers.run import Run, Tables

ANTISTEREOTYPICAL = "Antistereotypical preferred (%)"


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Draw the paper's figures that the data sets allow, `unprefixed` and, if prefixes that pairs
    share are compared, `sharing`, by name.

    Args:
        tables: `context_accuracy`, `context_matrix`, `context_overlap`, `context_correlations`,
            `context_points` and `context_unprefixed`.
        run: with the titles of the data sets, in the order of columns, and of the corpus of
            unrelated sentences.
    """
    accuracy, points = tables["context_accuracy"], tables["context_points"]
    related, matrix = tables["context_correlations"], tables["context_matrix"]
    primary = str(primary_dataset([*run.titles]))
    makers: dict[str, Callable[[], Figure]] = {
        "figure_2": lambda: by_dataset(accuracy, run),
        "figure_3": lambda: collapsed(accuracy, run, primary),
        "figure_4": lambda: matched(accuracy, run, primary),
        "figure_5": lambda: perturbed(accuracy, run),
        "figure_6": lambda: stereotypes(accuracy, run, "unacceptable"),
        "figure_7": lambda: stereotypes(accuracy, run, "acceptable"),
        "figure_8": lambda: bias_types(accuracy, run),
        "figure_9": lambda: perturbation_scatter(points, related, run),
        "figure_10": lambda: metric_scatter(points, related, run, "matched_acceptable"),
        "figure_11": lambda: metric_scatter(points, related, run, "matched_unacceptable"),
        "figure_12": lambda: overlaps(tables["context_overlap"]),
        "figure_13": lambda: suite_matrix(matrix, primary, run.models),
        "figure_14": lambda: relative_matrix(matrix, SYNTAXGYM, run.models),
        "figure_15": lambda: margins(accuracy, run),
        "figure_16": lambda: collapsed(accuracy, run, SYNTAXGYM),
        "figure_17": lambda: matched(accuracy, run, SYNTAXGYM),
    }
    shown = {name: makers[name] for name in figures_of(list(accuracy["dataset"].unique()))}
    shown["unprefixed"] = lambda: unprefixed(tables["context_unprefixed"], run)
    if (accuracy["perturbation"] == SHARED).any():
        shown["sharing"] = lambda: sharing(accuracy, run)
    figures = draw_each(shown)
    for figure in figures.values():
        label_provenance(figure, accuracy["scale"])
    return figures


def by_dataset(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Figure 2: change in accuracy by length under five kinds of prefixes.

    A row a model, a column a data set.
    """
    rows = overall(accuracy)
    datasets = [name for name in run.titles if name in set(rows["dataset"])]
    models = models_of(rows)
    figure, axes = grid(len(models), len(datasets), **CURVES)
    for line, model in zip(axes, models, strict=True):
        for ax, dataset in zip(line, datasets, strict=True):
            here = rows[(rows["model"] == model) & (rows["dataset"] == dataset)]
            for kind in KINDS:
                curve(ax, here[here["kind"] == kind], "delta", COLOURS[kind], dash(kind))
            ax.set_title(f"{run.models[model]['title']}: {run.titles[dataset]}{pairs(here)}")
            finish(ax, DELTA if ax is line[0] else "")
    legend(figure, {label(kind, run): (COLOURS[kind], dash(kind)) for kind in KINDS})
    return figure


def collapsed(accuracy: pd.DataFrame, run: Run, dataset: str) -> Figure:
    """Figures 3 and 16: change by length, matched and mismatched together; a panel a model."""
    kinds = ("acceptable", "unacceptable", UNRELATED)
    return one_row(accuracy, run, dataset, kinds, "delta", DELTA)


def matched(accuracy: pd.DataFrame, run: Run, dataset: str) -> Figure:
    """Figures 4 and 17: matched against mismatched prefixes; a row a model."""
    rows = overall(accuracy)
    rows = rows[rows["dataset"] == dataset]
    models = models_of(rows)
    figure, axes = grid(len(models), 2, **CURVES)
    for line, model in zip(axes, models, strict=True):
        for ax, side in zip(line, ("acceptable", "unacceptable"), strict=True):
            for kind in (f"matched_{side}", f"mismatched_{side}"):
                here = rows[(rows["model"] == model) & (rows["kind"] == kind)]
                curve(ax, here, "delta", COLOURS[kind], dash(kind))
            ax.set_title(f"{run.models[model]['title']}: {side} prefixes{pairs(here)}")
            finish(ax, DELTA if ax is line[0] else "")
    related = [kind for kind in KINDS if kind != UNRELATED]
    legend(figure, {label(kind, run): (COLOURS[kind], dash(kind)) for kind in related})
    return figure


def sharing(accuracy: pd.DataFrame, run: Run) -> Figure:
    """What sharing does: change by length after prefixes of a pair's own and of a whole suite.

    A row a model, a column a kind of prefixes.
    """
    rows = accuracy[(accuracy["level"] == "all") & accuracy["perturbation"].isin([OWN, SHARED])]
    models = models_of(rows)
    figure, axes = grid(len(models), len(KINDS), **CURVES)
    looks = {OWN: (palette.BLACK, "-"), SHARED: (palette.ORANGE, "--")}
    for line, model in zip(axes, models, strict=True):
        for ax, kind in zip(line, KINDS, strict=True):
            here = rows[(rows["model"] == model) & (rows["kind"] == kind)]
            for name, look in looks.items():
                curve(ax, here[here["perturbation"] == name], "delta", *look)
            ax.set_title(label(kind, run).replace(", ", ",\n") + pairs(here))
            named = f"{run.models[model]['title']}\n{DELTA}"
            finish(ax, named if ax is line[0] else "")
            ax.set_xlabel("Tokens")
    titles = {
        OWN: "Prefixes of the other figures",
        SHARED: "A prefix for all pairs of a suite",
    }
    legend(figure, {titles[name]: look for name, look in looks.items()})
    return figure


def unprefixed(baselines: pd.DataFrame, run: Run) -> Figure:
    """Accuracy without a prefix under each BOS policy: a panel a data set, a marker a model."""
    rows = baselines[baselines["level"] == "all"]
    datasets = [name for name in run.titles if name in set(rows["dataset"])]
    policies = list(dict.fromkeys(rows["bos_policy"]))[::-1]
    models = models_of(rows)
    figure, axes = grid(
        1, len(datasets), width=2.2, height=0.6 + 0.3 * len(policies), margins=(1.8, 0.7),
        narrowest=3.8, sharey=True,
    )  # fmt: skip
    for ax, dataset in zip(axes[0], datasets, strict=True):
        here = rows[rows["dataset"] == dataset]
        for number, model in enumerate(models):
            one = here[here["model"] == model]
            shift = 0.5 * ((number + 1) / (len(models) + 1) - 0.5)
            places = [policies.index(policy) - shift for policy in one["bos_policy"]]
            ends = [one["accuracy"] - one["accuracy_low"], one["accuracy_high"] - one["accuracy"]]
            look = run.models[model]
            ax.errorbar(
                one["accuracy"], places, xerr=ends, fmt=look["marker"], color=look["colour"],
                elinewidth=0.8,
            )  # fmt: skip
        ax.set_title(run.titles[dataset] + pairs(here))
        ax.set_xlabel("Accuracy without a prefix")
        ax.xaxis.set_major_formatter(in_percent("%"))
        ax.set_yticks(range(len(policies)), [name.replace("_", " ") for name in policies])
        ax.set_ylim(-0.6, len(policies) - 0.4)
    handles = [handle(run.models[m]["title"], run.models[m]["colour"], run.models[m]["marker"])
               for m in models]  # fmt: skip
    legend_above(figure, handles, columns=4)
    return figure


def stereotypes(accuracy: pd.DataFrame, run: Run, side: str) -> Figure:
    """Figures 6 and 7: CrowS-Pairs after (anti)stereotypical prefixes, matched and mismatched.

    The share of pairs whose less stereotypical sentence is preferred; a fair model has one half.
    """
    kinds = (f"matched_{side}", f"mismatched_{side}")
    figure = one_row(accuracy, run, CROWS_PAIRS, kinds, "accuracy", ANTISTEREOTYPICAL)
    for ax in figure.axes:
        ax.axhline(0.5, color=palette.BLACK, linewidth=0.8, linestyle=":")
    return figure


def bias_types(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Figure 8: CrowS-Pairs after antistereotypical matched prefixes; thin: each bias type."""
    kinds, thin = ("matched_acceptable",), {"Each bias type": (palette.GREY, "-")}
    figure = one_row(accuracy, run, CROWS_PAIRS, kinds, "accuracy", ANTISTEREOTYPICAL, thin)
    rows = accuracy[
        (accuracy["level"] == "suite")
        & (accuracy["dataset"] == CROWS_PAIRS)
        & (accuracy["kind"] == kinds[0])
    ]
    for ax, model in zip(figure.axes, models_of(rows), strict=True):
        for _, one in rows[rows["model"] == model].groupby("group", sort=False):
            curve(ax, one, "accuracy", palette.GREY, "-", interval=False, linewidth=0.5)
        ax.axhline(0.5, color=palette.BLACK, linewidth=0.8, linestyle=":")
    return figure


def margins(accuracy: pd.DataFrame, run: Run) -> Figure:
    """Figure 15: mean perplexity margin by length; dashed without a prefix."""
    primary = str(primary_dataset([*run.titles]))
    figure = one_row(
        accuracy, run, primary, KINDS, "margin", "Perplexity margin (a token)",
        {"Without a prefix": (palette.BLACK, "--")},
    )  # fmt: skip
    rows = overall(accuracy)
    rows = rows[rows["dataset"] == primary]
    for ax, model in zip(figure.axes, models_of(rows), strict=True):
        baseline = rows.loc[rows["model"] == model, "baseline_margin"].iloc[0]
        ax.axhline(baseline, color=palette.BLACK, linewidth=0.8, linestyle="--")
    return figure


def one_row(
    accuracy: pd.DataFrame,
    run: Run,
    dataset: str,
    kinds: Sequence[str],
    column: str,
    axis_label: str,
    more: Mapping[str, tuple[str, str]] | None = None,
) -> Figure:
    """Draw a panel a model, three a row, with a curve a kind; `more` is for the legend."""
    rows = overall(accuracy)
    rows = rows[rows["dataset"] == dataset]
    models = models_of(rows)
    columns = min(3, len(models))
    figure, panels = wrapped(len(models), columns=columns, **CURVES)
    for number, (ax, model) in enumerate(zip(panels, models, strict=True)):
        here = rows[rows["model"] == model]
        for kind in kinds:
            curve(ax, here[here["kind"] == kind], column, COLOURS[kind], dash(kind))
        ax.set_title(f"{run.models[model]['title']}: {run.titles[dataset]}{pairs(here)}")
        finish(ax, axis_label if number % columns == 0 else "", percent=column != "margin")
    shown = {label(kind, run, dataset): (COLOURS[kind], dash(kind)) for kind in kinds}
    legend(figure, {**shown, **(more or {})})
    return figure
