"""Figure 2 of the paper, and accuracy without a prefix, of Chinese data sets."""

from __future__ import annotations

from matplotlib.figure import Figure

from lingprob.figures.labels import label_provenance
from lingprob.papers.context.figures import by_dataset, unprefixed
from lingprob.papers.context.summary import Tables
from lingprob.papers.run import Run


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Return the figures `accuracy` and `unprefixed`, by name.

    Args:
        tables: `context_accuracy` and `context_unprefixed`.
        run: with the titles of the data sets and of `unrelated` sentences.
    """
    found = {
        "accuracy": by_dataset(tables["context_accuracy"], run),
        "unprefixed": unprefixed(tables["context_unprefixed"], run),
    }
    for figure in found.values():
        label_provenance(figure, tables["context_accuracy"]["scale"])
    return found
