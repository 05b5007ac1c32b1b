"""Figure 2 of the paper, and accuracy without a prefix, of Chinese data sets."""

from __future__ import annotations

from matplotlib.figure import Figure

from lingprob.figures.labels import label_provenance
from lingprob.papers.context.figures import by_dataset, unprefixed
from lingprob.papers.context.summary import Tables
from lingprob.papers.contract import Run


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Return the figures `accuracy` and `unprefixed`, by name.

    Args:
        tables: `accuracy` and `unprefixed`.
        run: with the option `control`, what the unrelated sentences are of.
    """
    found = {
        "accuracy": by_dataset(tables["accuracy"], run),
        "unprefixed": unprefixed(tables["unprefixed"], run),
    }
    for figure in found.values():
        label_provenance(figure, tables["accuracy"]["scale"])
    return found
