"""Which model's surprisal predicts reading times better than which other one's."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from lingprob.figures import style
from lingprob.figures.labels import wrapped_title
from lingprob.figures.panels import wrapped
from lingprob.papers.contract import Run

COLUMNS = 2
MARGIN_INCHES, MODEL_INCHES = 0.6, 0.09  # around a panel, and of a row of it
SIGNIFICANT = 0.05
TIMES = 1000  # reading times that differences are given for


def model_differences(differences: pd.DataFrame, run: Run) -> Figure:
    """Draw each model's log-likelihood of 1,000 reading times less each other's, by data set.

    Models stand in the order of their fit, the best on top. Blank where the permutation test's
    p-value is .05 or more; it is not corrected, for few readers allow of no p that would outlive a
    correction for all pairs of many models.

    `differences` is a `model_differences` table.
    """
    datasets = list(dict.fromkeys(differences["dataset"]))
    most = max(len(_in_order(part)) for _, part in differences.groupby("dataset"))
    figure, panels = wrapped(
        len(datasets), columns=COLUMNS, width=style.PAGE_INCHES / COLUMNS,
        height=max(1.6, MARGIN_INCHES + MODEL_INCHES * most), margins=(0.0, 0.3),
    )  # fmt: skip
    for axis, dataset in zip(panels, datasets, strict=True):
        _matrix_of(axis, differences[differences["dataset"] == dataset], run)
        axis.set_title(wrapped_title(dataset, run.titles, 40))
    return figure


def _matrix_of(axis: Axes, part: pd.DataFrame, run: Run) -> None:
    names = _in_order(part)
    matrix = np.full((len(names), len(names)), np.nan)
    for row in part[part["p"] < SIGNIFICANT].itertuples():
        at = names.index(row.model), names.index(row.other)
        value = TIMES * row.difference / row.n_evaluated
        matrix[at], matrix[at[::-1]] = value, -value
    reach = np.nanmax(np.abs(matrix)) if np.isfinite(matrix).any() else 1.0
    image = axis.imshow(matrix, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto")
    bar = axis.figure.colorbar(image, ax=axis, shrink=0.7)
    bar.set_label(f"row less column\n(nats of {TIMES:,} times)", fontsize=6)
    titles = [str(run.models[name]["title"]) for name in names]
    axis.set_yticks(range(len(names)), titles, fontsize=4.5)
    axis.set_xticks([])
    axis.set_xlabel("the same models, the best on the left; blank: p of .05 or more", fontsize=6)
    axis.grid(visible=False)


def _in_order(part: pd.DataFrame) -> list[str]:
    """Return a data set's models by their fit, the best first."""
    both = pd.concat([part["model"], part["other"]])
    above = pd.concat([part["difference"], -part["difference"]]).groupby(both, sort=False).sum()
    return [str(name) for name in above.sort_values(ascending=False, kind="stable").index]
