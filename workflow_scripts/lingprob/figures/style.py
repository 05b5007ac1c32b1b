"""One look for all figures: small journal type, sizes, and files with nothing but the figure."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import fill

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogFormatterMathtext, NullFormatter

from lingprob.errors import LingprobError
from lingprob.figures import palette
from lingprob.figures.labels import add_to_footer, keep_names_apart
from lingprob.io.files import atomic_path

logger = logging.getLogger(__name__)
COLUMN_INCHES = 3.35
PAGE_INCHES = 7.0
FAILED = "failed: "  # begins the gid of what stands in the place of a figure

plt.rcParams.update(
    {
        "font.size": 8,
        "axes.titlesize": 8,
        "axes.titleweight": "bold",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#E6E6E6",
        "grid.linewidth": 0.6,
        "axes.axisbelow": True,
        "legend.frameon": False,
        "lines.linewidth": 1.2,
        "lines.markersize": 4.5,
        "figure.constrained_layout.use": True,
        # All figures of a paper are open until they are saved.
        "figure.max_open_warning": 0,
        "pdf.fonttype": 42,
        "savefig.dpi": 200,
        # Titles and names come from users, and a dollar sign in them is no mathematics.
        "text.parse_math": False,
    }
)


def draw_each(makers: Mapping[str, Callable[[], Figure]]) -> dict[str, Figure]:
    """Draw each figure, by name. One that fails takes no other away: it says why in its place.

    The log has the whole error, and `failures` its message.
    """
    figures = {}
    for name, make in makers.items():
        try:
            figures[name] = make()
        except Exception as error:
            logger.exception("figure %s was not drawn", name)
            figures[name] = plt.figure(figsize=(COLUMN_INCHES, 1.5))
            text = f"{name} was not drawn. {type(error).__name__}: {error}"
            figures[name].text(
                0.5, 0.5, fill(text, 50), color=palette.RED, ha="center", va="center"
            )
            figures[name].set_gid(FAILED + text)
    return figures


def failures(figures: Mapping[str, Figure]) -> dict[str, str]:
    """Return why figures of `draw_each` were not drawn, by name; empty if all were."""
    marks = {name: str(figure.get_gid() or "") for name, figure in figures.items()}
    return {
        name: mark.removeprefix(FAILED) for name, mark in marks.items() if mark.startswith(FAILED)
    }


def save_figures(
    figures: Mapping[str, Figure], paths: Iterable[str | Path], note: str = ""
) -> None:
    """Save to each path the figure that the file is named after, atomically, and close all.

    A note stands in the footer of each.

    Raises LingprobError if there is no figure of that name.
    """
    saved = list(map(Path, paths))
    for path in saved:
        if path.stem not in figures:
            raise LingprobError(
                f"{path}: no figure is called {path.stem!r}; the tables given make "
                f"{', '.join(figures) or 'none'}. Correct the rule's list of figures."
            )
    for name in {path.stem for path in saved}:
        add_to_footer(figures[name], note)
        # Once, so that the files of a figure are alike; laying out is a third of the time to save.
        lay_out(figures[name])
    for path in saved:
        with atomic_path(path) as temporary:
            # A fixed date keeps a PDF the same when nothing in it changed.
            metadata = {"CreationDate": None} if path.suffix == ".pdf" else {}
            figures[path.stem].savefig(temporary, metadata=metadata)
    for figure in figures.values():
        plt.close(figure)


def lay_out(figure: Figure) -> None:
    """Put everything of a finished figure where it stays: panels first, then names of points."""
    # Letters are not as wide at every resolution, so at that of the file.
    figure.set_dpi(plt.rcParams["savefig.dpi"])
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
            axis.set_minor_formatter(NullFormatter())
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    keep_names_apart(figure)
