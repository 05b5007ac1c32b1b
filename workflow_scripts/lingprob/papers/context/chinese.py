"""Chinese data sets in this room: beside what the paper, whose limit is English, has of its own."""

from __future__ import annotations

import pandas as pd

from lingprob.papers.contract import Run, Tables

# Before the name of a table: its rows of Chinese data sets.
CHINESE = "chinese_"


def set_apart(tables: Tables, run: Run) -> Tables:
    """Return the tables without the data sets that the run's option `chinese` names, if any, and
    their rows as tables of their own, named with CHINESE."""
    if "chinese" not in run.options:
        return tables
    found: dict[str, pd.DataFrame] = {}
    for name, table in tables.items():
        theirs = table["dataset"].isin(run.options["chinese"])
        found |= {name: table[~theirs], f"{CHINESE}{name}": table[theirs]}
    return found


def chinese_part(tables: Tables) -> Tables:
    """Return the tables that `set_apart` named with CHINESE, by their own names."""
    return {
        name.removeprefix(CHINESE): table
        for name, table in tables.items()
        if name.startswith(CHINESE)
    }
