"""A figure of ΔLogLik by the number of copies of the passages in training."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import palette, style
from lingprob.figures.labels import handle, label_provenance, legend_above, wrapped_title
from lingprob.figures.palette import Models
from lingprob.figures.panels import whiskers, wrapped

COLUMNS = 3
PANEL_INCHES = 1.9
APART = 0.12  # of sizes, whose intervals would hide one another, on the axis of copies


def doses(
    deltas: pd.DataFrame, slopes: pd.DataFrame, models: Models, titles: Mapping[str, str]
) -> Figure:
    """Draw ΔLogLik by copies and size. Titles have its slope per doubling of copies.

    Args:
        deltas: `delta_log_likelihood` tables with the size and copies of each model.
        slopes: from `analysis.dose_slopes`, of the same data sets.
        models: the look of each size, from `palette.describe_models`.
        titles: of data sets.
    """
    datasets = list(dict.fromkeys(deltas["dataset"]))
    figure, panels = wrapped(
        len(datasets), columns=COLUMNS, width=style.PAGE_INCHES / COLUMNS, height=PANEL_INCHES,
        margins=(0.3, 0.9),
    )  # fmt: skip
    for axis, dataset in zip(panels, datasets, strict=True):
        _draw(axis, deltas[deltas["dataset"] == dataset], models)
        of_dataset = slopes[(slopes["dataset"] == dataset) & (slopes["of"] == "delta")]
        said = [
            f"{row.size}: {row.slope:.2g} [{row.slope_low:.2g}, {row.slope_high:.2g}]"
            for row in of_dataset.itertuples()
        ]
        title = [wrapped_title(dataset, titles, 24), "nats per doubling of copies", *said]
        axis.set_title("\n".join(title), fontsize=6.5, fontweight="normal")
        axis.set_xlabel("copies of each passage", fontsize=7)
    panels[0].set_ylabel("ΔLogLik (nats)", fontsize=7)
    looks = {size: models[size] for size in dict.fromkeys(deltas["size"])}
    legend_above(figure, [handle(n, look["colour"], look["marker"]) for n, look in looks.items()])
    label_provenance(figure, deltas["scale"], deltas["rt_source"], "reading times")
    return figure


def _draw(axis: Axes, part: pd.DataFrame, models: Models) -> None:
    """Draw one data set's models, one line per size, at log2(1 + copies) or close by."""
    lines = part.sort_values("copies").groupby("size", sort=False)
    for number, (size, line) in enumerate(lines):
        look = models[str(size)]
        x = np.log2(1 + line["copies"]) + APART * (number - (lines.ngroups - 1) / 2)
        reach = whiskers(line["delta"], line["delta_low"], line["delta_high"])
        axis.errorbar(
            x, line["delta"], reach, capsize=1.5, elinewidth=0.6, markersize=3,
            color=look["colour"], marker=look["marker"],
        )  # fmt: skip
    axis.axhline(0, color=palette.GREY, linewidth=0.6)
    copies = sorted(part["copies"].unique())
    axis.set_xticks(np.log2(1 + np.array(copies)), [str(count) for count in copies], fontsize=6)
