"""Parts of a figure that are cut off or overprinted, by their boxes."""

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.text import Text

from lingprob.figures.style import lay_out

CUT = 1.0  # pixels beyond the canvas that are not visible
# Share of a text's height and width that its box may be within another's: a line's box is higher
# than its letters.
SLACK = (0.1, 0.25)


def layout_faults(figure: Figure) -> list[str]:
    """Return a sentence for every text or legend beyond the canvas, and for texts on each other.

    The figure is laid out as when it is saved, and stays so.
    """
    lay_out(figure)
    width, height = FigureCanvasAgg(figure).get_width_height()
    faults = []
    boxes = [(text.get_text(), corners(text)) for text in drawn_texts(figure)]
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    boxes_of_legends = [("the legend", edges(legend)) for legend in legends if legend]
    for name, box in [*boxes, *boxes_of_legends]:
        low, high = box.min(axis=0), box.max(axis=0)
        if low.min() < -CUT or high[0] > width + CUT or high[1] > height + CUT:
            faults.append(f"{name!r} is cut off")
    for (one, box), (other, second) in combinations(boxes, 2):
        if overlap(shrunk(box), shrunk(second)):
            faults.append(f"{one!r} stands on {other!r}")
    return faults


def drawn_texts(figure: Figure) -> Iterator[Text]:
    """Yield the texts that are drawn: those of ticks beyond an axis's limits are not."""
    beyond = set()
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            shown = {id(tick) for tick in axis._update_ticks()}
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if id(tick) not in shown or not (ax.axison and ax.get_visible()):
                    beyond |= {id(tick.label1), id(tick.label2)}
    for text in figure.findobj(Text):
        shown = text.get_visible() and text.get_text().strip() and id(text) not in beyond
        if shown and (text.axes is None or text.axes.get_visible()):
            yield text


def check_points(
    axes: Iterable[Axes], rows: pd.DataFrame, x: str, y: str, kind: str = "filled", named: str = ""
) -> None:
    """Check that panels have a point for each row, in its colour, and no others of their kind.

    A kind is `filled`, `hollow` or the style of lines without markers. On the axis `named`, places
    are labels of ticks. If rows have ends of intervals, these are drawn.
    """
    found, ends = [], set()
    for ax in axes:
        labels = {axis: getattr(ax, f"{axis}axis").get_major_formatter() for axis in named}
        for line in ax.lines:
            filling = "hollow" if line.get_markerfacecolor() == "white" else "filled"
            if kind == (line.get_linestyle() if line.get_marker() == "None" else filling):
                for point in line.get_xydata()[np.isfinite(line.get_xydata()).all(axis=1)]:
                    at = dict(zip("xy", np.round(point, 6).tolist(), strict=True))
                    at |= {axis: label(round(at[axis])) for axis, label in labels.items()}
                    found.append((line.get_color(), *at.values()))
        bars = [bars for bars in ax.collections if isinstance(bars, LineCollection)]
        ends |= {tuple(column) for part in bars for segment in part.get_segments()
                 for column in np.round(segment, 6).T.tolist()}  # fmt: skip
    rows = rows.dropna(subset=["colour", x, y]).round(6)
    assert sorted(found) == sorted(rows[["colour", x, y]].itertuples(index=False, name=None))
    for name in {f"{x}_low", f"{y}_low"} & {*rows}:
        assert {*zip(rows[name], rows[name.replace("_low", "_high")], strict=True)} <= ends


def corners(text: Text) -> np.ndarray:
    """Return the corners of a text's box in pixels, turned as the text is: (4, 2)."""
    box, angle = text.get_window_extent(), text.get_rotation()
    own = text._rotation  # `get_rotation` adds the angle of a curve
    centre = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    text.set_rotation(0)
    upright = text.get_window_extent()
    text.set_rotation(own)
    half = np.array([upright.width, upright.height]) / 2
    turn = np.radians(angle)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    return centre + (np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half) @ rotation.T


def edges(legend: Legend) -> np.ndarray:
    """Return two opposite corners of a legend's box in pixels."""
    box = legend.get_window_extent()
    return np.array([[box.x0, box.y0], [box.x1, box.y1]])


def shrunk(box: np.ndarray) -> np.ndarray:
    """Return a box without the slack on each side."""
    across, up = (box[1] - box[0]) * SLACK[0] / 2, (box[3] - box[0]) * SLACK[1] / 2
    signs = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    return box + signs[:, [0]] * across + signs[:, [1]] * up


def overlap(box: np.ndarray, other: np.ndarray) -> bool:
    """Tell whether two rectangles share a point: no line parallel to a side parts them."""
    for sides in (box, other):
        for normal in (sides[1] - sides[0], sides[3] - sides[0]):
            one, two = box @ normal, other @ normal
            if one.max() <= two.min() or two.max() <= one.min():
                return False
    return True
