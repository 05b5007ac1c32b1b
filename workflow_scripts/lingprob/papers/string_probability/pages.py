"""Tables of the room that no analysis of a single prediction makes."""

from __future__ import annotations

import pandas as pd

from lingprob.papers.contract import Run, Tables
from lingprob.papers.string_probability.neighbours import summarise_neighbours


def tabulate(tables: Tables, run: Run) -> dict[str, pd.DataFrame]:
    """Return `neighbours`: what the best neighbours of ungrammatical sentences say of pairs.

    `run.options` has the draws of the bootstrap and their seed.
    """
    found = summarise_neighbours(
        tables["neighbours"], run.options["bootstrap"], run.options["seed"]
    )
    titles = {name: model["title"] for name, model in run.models.items()}
    return {"neighbours": found.assign(model=found["model"].map(titles), scale=run.scale)}
