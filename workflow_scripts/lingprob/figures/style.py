"""One look for all figures: colours safe for colour-blind readers, small journal type."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from lingprob.files import atomic_path

# Okabe & Ito's palette.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#7F7F7F"
COLUMN_INCHES = 3.35
PAGE_INCHES = 7.0

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
        "pdf.fonttype": 42,
        "savefig.dpi": 200,
    }
)


def label_provenance(
    figure: Figure, sources: Iterable[str], scales: Iterable[str], what: str = "ratings"
) -> None:
    """Write the scale on the figure and, in plain sight, that data are simulated if any are.

    `sources` says of each row where its ratings, or `what` it is, come from.
    """
    scale = "/".join(sorted(set(scales)))
    simulated = "simulated" in set(sources)
    text = f"SIMULATED {what.upper()} (scale {scale})" if simulated else f"scale: {scale}"
    figure.supxlabel(
        text,
        fontsize=8 if simulated else 6,
        color=RED if simulated else GREY,
        fontweight="bold" if simulated else "normal",
        x=0.995,
        ha="right",
    )


def save_figure(figure: Figure, pdf: str | Path, png: str | Path) -> None:
    """Save a figure as PDF and PNG, each atomically, and close it."""
    for path in (pdf, png):
        with atomic_path(path) as temporary:
            # A fixed date keeps a PDF the same when nothing in it changed.
            metadata = {"CreationDate": None} if Path(path).suffix == ".pdf" else {}
            figure.savefig(temporary, metadata=metadata)
    plt.close(figure)
