"""Reading time over surprisal: curves with their bands, and the lines that they replace."""

from collections.abc import Mapping

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import (
    group_handles,
    handle,
    label_provenance,
    legend_above,
    wrapped_title,
)
from lingprob.figures.palette import Models
from lingprob.figures.panels import name_axes, wrapped

COLUMNS = 4
PANEL_INCHES = 1.7
MOST_BANDS = 6  # models in a panel whose bands are still told apart


def curves(
    points: pd.DataFrame, gains: pd.DataFrame, models: Models, titles: Mapping[str, str]
) -> Figure:
    """Draw reading time over the surprisal of the word, one curve per model, by data set.

    Dotted lines are those that curves replace. Bands, for up to six models, are 95% intervals.
    Titles count the models whose curve predicts other times better: the interval of its gain is
    above 0.

    Args:
        points, gains: as `analysis.surprisal_curves` returns them.
        models: as `palette.describe_models` describes them.
        titles: of data sets.
    """
    points = points[points["predictor"] == "surprisal"]
    datasets = list(dict.fromkeys(points["dataset"]))
    figure, panels = wrapped(
        len(datasets), columns=COLUMNS, width=style.PAGE_INCHES / COLUMNS, height=PANEL_INCHES,
        margins=(0.0, 0.9),
    )  # fmt: skip
    for axis, dataset in zip(panels, datasets, strict=True):
        _draw(axis, points[points["dataset"] == dataset], models)
        of_dataset = gains[gains["dataset"] == dataset]
        better = int((of_dataset["gain_low"] > 0).sum())
        title = wrapped_title(dataset, titles, 22)
        axis.set_title(f"{title}\ncurve better: {better} of {len(of_dataset)}", fontsize=7)
    name_axes(panels, "surprisal (bits)", "reading time (ms)", COLUMNS)
    line = handle("line", palette.BLACK, linestyle=":")
    legend_above(figure, [*group_handles(points["model"], models), line])
    label_provenance(figure, gains["scale"], gains["rt_source"], "reading times")
    return figure


def _draw(axis: Axes, part: pd.DataFrame, models: Models) -> None:
    by_model = list(part.groupby("model", sort=False))
    for name, curve in by_model:
        colour = models[name]["colour"]
        axis.plot(curve["bits"], curve["ms"], color=colour, linewidth=0.9)
        axis.plot(curve["bits"], curve["line_ms"], color=colour, linewidth=0.5, linestyle=":")
        if len(by_model) <= MOST_BANDS:
            axis.fill_between(
                curve["bits"], curve["ms_low"], curve["ms_high"], color=colour, alpha=0.15,
                linewidth=0,
            )  # fmt: skip
    axis.axhline(0, color=palette.GREY, linewidth=0.5)
