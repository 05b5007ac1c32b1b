"""Figure 2 of the paper with Chinese data sets."""

from matplotlib.figure import Figure

from lingprob.figures.labels import label_provenance
from lingprob.papers.context.analysis import Tables
from lingprob.papers.context.figures import by_dataset
from lingprob.papers.run import Run


def draw(tables: Tables, run: Run) -> dict[str, Figure]:
    """Return the figure `accuracy` by name.

    Args:
        tables: `context_accuracy` is drawn.
        run: with the titles of the data sets and of `unrelated` sentences.
    """
    figure = by_dataset(tables["context_accuracy"], run)
    label_provenance(figure, tables["context_accuracy"]["scale"])
    return {"accuracy": figure}
