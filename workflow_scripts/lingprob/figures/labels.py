"""Titles, legends, names of points, and the footer with the provenance of a figure."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from textwrap import fill, wrap
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Annotation
from matplotlib.transforms import BboxBase

from lingprob.figures import palette
from lingprob.figures.palette import Models

# Places for a name near its point: upwards and to the right (pt), with the alignment.
SIDES = ((4, "left"), (-4, "right"), (0, "center"))
NAME_PLACES = [(x, y, side) for y, (x, side) in product((4, -9, 13, -18, 21, -26), SIDES)]
# Names at the first places touch the point. From other places a thin line leads to it.
NEAR_PLACES = 6
POINT_RADIUS = 3.5  # pt, of the largest marker with a name
FOOTER_POINTS = 6.0  # pt, smaller than axis labels
LETTER_INCHES = 0.052  # width of a letter in the footer
NOTE_LINES = 4  # of a note in the footer


def short_title(name: str, models: Models) -> str:
    """Return a model's title without its family's name ("70M" for Pythia 70M), wrapped."""
    title, family = str(models[name]["title"]), str(models[name]["family_title"])
    return fill(title.removeprefix(family).strip() or title, 14)


def wrapped_title(name: str, titles: Mapping[str, str], letters: int = 26) -> str:
    """Return a data set's title with at most `letters` letters per line."""
    return fill(titles.get(name, name.replace("_", " ").capitalize()), letters)


def dataset_label(label: str, dataset: str, shown: Sequence[str], titles: Mapping[str, str]) -> str:
    """Return an axis label, below the data set's title if a figure shows several data sets."""
    return f"{wrapped_title(dataset, titles)}\n{label}" if len(shown) > 1 else label


def few_handles(names: Iterable[str], models: Models, most: int = 8) -> list[Line2D]:
    """Return a legend's entries for models, or for their groups if there are more than `most`."""
    names = list(dict.fromkeys(names))
    if len(names) > most:
        return group_handles(names, models)
    looks = [models[name] for name in names]
    return [handle(look["title"], look["colour"], look["marker"]) for look in looks]


def group_handles(names: Iterable[str], models: Models, linestyle: str = "-") -> list[Line2D]:
    """Return a legend's entries for the groups of these models (`palette.group_of`)."""
    looks = {models[name]["group"]: models[name] for name in names}.items()
    return [handle(g, look["group_colour"], look["marker"], linestyle) for g, look in looks]


def handle(label: str, colour: str, marker: str = "", linestyle: str = "-", **look: Any) -> Line2D:
    """Return a legend entry with the line properties in `look`."""
    return Line2D([], [], color=colour, marker=marker, linestyle=linestyle, label=label, **look)


def published_handle(linestyle: str = "none") -> Line2D:
    """Return a legend's entry for published values."""
    return handle("published", palette.BLACK, "o", linestyle, markerfacecolor="white")


def legend_above(figure: Figure, handles: Sequence[Line2D], columns: int = 6) -> None:
    """Put one legend above all panels, in at most `columns` columns, as many as fit the width."""
    canvas: Any = FigureCanvasAgg(figure)
    width = figure.get_window_extent().width
    for count in range(min(columns, len(handles)), 0, -1):
        where: dict[str, Any] = {"loc": "outside upper center", "columnspacing": 1.0}
        legend = figure.legend(handles=handles, ncols=count, fontsize=6.5, **where)
        if count == 1 or legend.get_window_extent(canvas.get_renderer()).width < 0.99 * width:
            return
        legend.remove()


def name_point(ax: Axes, text: str, x: float, y: float, **look: Any) -> None:
    """Write a point's name at its upper right. `keep_names_apart` may move it."""
    look = {"textcoords": "offset points", "fontsize": 6, **look}
    # Panels make no room for a name, because it is moved inside its panel.
    ax.annotate(text, (x, y), NAME_PLACES[0][:2], **look).set_in_layout(False)


def keep_names_apart(figure: Figure) -> None:
    """Move the names of points so that they overlap neither each other nor points.

    Names stay within their panels, whose places must be final. A name without room is left out.
    """
    for ax in figure.axes:
        taken: list[BboxBase] = []
        panel, lines = ax.get_window_extent(), list(ax.lines)
        in_pixels = [line.get_transform().transform(line.get_xydata()) for line in lines]
        points = np.vstack([np.empty((0, 2)), *in_pixels])
        for name in (text for text in ax.texts if isinstance(text, Annotation)):
            faults = [_faults(name, place, panel, taken, points) for place in NAME_PLACES]
            best = int(np.argmin(faults))
            name.set_visible(_faults(name, NAME_PLACES[best], panel, taken, points) < 1000)
            if name.get_visible():
                taken.append(name.get_window_extent())
                if best >= NEAR_PLACES:
                    _lead_to_point(ax, name)


def _lead_to_point(ax: Axes, name: Annotation) -> None:
    """Draw a thin line from the nearest edge of a name to its point."""
    point, box = ax.transData.transform(name.xy), name.get_window_extent()
    edge = np.clip(point, box.min, box.max)
    x, y = ax.transData.inverted().transform([point, edge]).T
    ax.add_line(Line2D(x, y, color=palette.GREY, linewidth=0.4, zorder=1))


def _faults(
    name: Annotation,
    place: tuple[int, int, str],
    panel: BboxBase,
    taken: list[BboxBase],
    points: np.ndarray,
) -> int:
    """Move a name to a place, and return the penalty for leaving the panel or covering others."""
    name.set(x=place[0], y=place[1], ha=place[2])
    box = name.get_window_extent()
    off = not all(panel.contains(*corner) for corner in (box.min, box.max))
    on_names = sum(bool(box.overlaps(other)) for other in taken)
    on_points = box.padded(POINT_RADIUS / 72 * name.figure.dpi).count_contains(points)
    return 10_000 * off + 1000 * on_names + on_points


def add_to_footer(figure: Figure, text: str) -> None:
    """Add a note to a figure's footer, before any other note."""
    if text:
        first = (figure.get_supxlabel() or "").partition("\n")[0]
        _write_footer(figure, first, f"{text} {figure.get_label()}".strip())


def label_provenance(
    figure: Figure,
    scales: Iterable[str],
    sources: Iterable[str] = (),
    data: str = "ratings",
    note: str = "",
) -> None:
    """Write the scale into a figure's footer, and in red if its data are simulated.

    Scales and sources are those of the rows that the figure shows. `data` is the name of the data
    that may be simulated (ratings, reading times). At scale demo real data are the user's own. The
    footer shows the first lines of the note on the data, and the metadata of the files all of it.
    """
    scale = "/".join(sorted(set(scales)))
    simulated, own = "simulated" in set(sources), scale == "demo" and set(sources) == {"human"}
    text = f"your own data (draws and samples: scale {scale})" if own else f"scale: {scale}"
    text = f"SIMULATED {data.upper()} (scale {scale})" if simulated else text
    _write_footer(figure, text, note, palette.RED if simulated else palette.GREY)


def _write_footer(figure: Figure, first: str, note: str, colour: str | None = None) -> None:
    """Write a line with `first`, and the part of the note that fits `NOTE_LINES` lines.

    The label of the figure keeps the whole note for the metadata of its files.
    """
    figure.set_label(note)
    letters = int(figure.get_figwidth() / LETTER_INCHES)
    lines = [first, *wrap(note, letters, max_lines=NOTE_LINES, placeholder=" ...")]
    look = {} if colour is None else {"color": colour}
    if colour == palette.RED:
        look["fontweight"] = "bold"
    figure.supxlabel(
        "\n".join(filter(None, lines)), fontsize=FOOTER_POINTS, x=0.995, ha="right", **look
    )
