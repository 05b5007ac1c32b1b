"""Set the style of all figures, draw them one by one, and save them."""

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from textwrap import fill
from typing import Any

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
FAILED = "failed: "  # prefix of the gid of a figure that was not drawn

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
        # All figures of a paper stay open until they are saved.
        "figure.max_open_warning": 0,
        "pdf.fonttype": 42,
        "savefig.dpi": 200,
        # Titles and names come from users, and a dollar sign in them is no mathematics.
        "text.parse_math": False,
    }
)


def draw_each(makers: Mapping[str, Callable[[], Figure]]) -> dict[str, Figure]:
    """Return the figure that each function draws, by name.

    If a function raises an error, its figure shows the message. The log has the traceback.
    """
    figures = {}
    for name, make in makers.items():
        try:
            figures[name] = make()
        except Exception as error:
            logger.exception("figure %s was not drawn", name)
            figures[name] = plt.figure(figsize=(COLUMN_INCHES, 1.5))
            text = f"{name} was not drawn. {type(error).__name__}: {error}"
            look: dict[str, Any] = {"color": palette.RED, "ha": "center", "va": "center"}
            figures[name].text(0.5, 0.5, fill(text, 50), **look)
            figures[name].set_gid(FAILED + text)
    return figures


def failures(figures: Mapping[str, Figure]) -> dict[str, str]:
    """Return the message of the error of each figure that `draw_each` could not draw, by name."""
    marks = {name: str(figure.get_gid()) for name, figure in figures.items()}
    return {name: mark[len(FAILED) :] for name, mark in marks.items() if mark.startswith(FAILED)}


def save_figures(
    figures: Mapping[str, Figure], paths: Iterable[str | Path], note: str = ""
) -> None:
    """Save each figure atomically to the paths whose file name is its name, and close all.

    `note` is a remark for the footer of each. Raises LingprobError if a path names no figure.
    """
    saved = list(map(Path, paths))
    for path in saved:
        if path.stem not in figures:
            raise LingprobError(
                f"{path}: no figure is called {path.stem!r}. The tables make "
                f"{', '.join(figures) or 'none'}. Correct the rule's list of figures."
            )
    for name in {path.stem for path in saved}:
        add_to_footer(figures[name], note)
        # Once for all files of a figure, because the layout takes a third of the time to save.
        lay_out(figures[name])
    for path in saved:
        with atomic_path(path) as temporary:
            # A fixed date keeps a PDF the same when nothing in it changed.
            pdf = path.suffix == ".pdf"
            metadata: dict[str, Any] = {"CreationDate": None} if pdf else {}
            metadata["Subject" if pdf else "Description"] = str(figures[path.stem].get_label())
            figures[path.stem].savefig(temporary, metadata=metadata)
    for figure in figures.values():
        plt.close(figure)


def plain_number(value: float) -> str:
    """Return a number without an exponent: 0.125, 50,000, 100K, 2.7B."""
    for least, unit, letter in ((1e9, 1e9, "B"), (1e6, 1e6, "M"), (1e5, 1e3, "K")):
        if value >= least:
            return f"{value / unit:g}{letter}"
    return f"{value:,.6g}"


def lay_out(figure: Figure) -> None:
    """Lay out a finished figure: panels first, then names of points."""
    # The width of letters depends on the resolution, so the file's is used.
    figure.set_dpi(plt.rcParams["savefig.dpi"])
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        if isinstance(axis.get_major_formatter(), LogFormatterMathtext):
            axis.set_major_formatter(FuncFormatter(lambda tick, _: plain_number(tick)))
        if isinstance(axis.get_minor_formatter(), LogFormatterMathtext):
            axis.set_minor_formatter(NullFormatter())
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    keep_names_apart(figure)
